// The edge between C and C++: no struct is trusted (and no exception passes it: support/guard.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "sidbeam/builder.h"
#include "sidbeam/runtime.h"
#include "sidbeam/session.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam::capi {

// Throws INVALID_ARGUMENT where a pointer that must be there is not.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s is NULL, expected an object", name);
}

// Checks struct_size, and that nothing is asked for in fields that came after this library. `smallest` is the size of the struct's first version.
void check_struct(const void* given, uint32_t struct_size, size_t smallest, size_t known, const char* name);

// Bytes of a struct's first version. Fields that were added since are zero where a caller of an older header has none.
template <class T>
inline constexpr size_t kFirstBytes = sizeof(T);
template <>
inline constexpr size_t kFirstBytes<sidbeam_runtime_config> = offsetof(sidbeam_runtime_config, cuda_library);
template <>
inline constexpr size_t kFirstBytes<sidbeam_builder_config> = offsetof(sidbeam_builder_config, allow_attribute_loss);
template <>
inline constexpr size_t kFirstBytes<sidbeam_items> = offsetof(sidbeam_items, stream);

// A copy of a caller's struct, whole even where the caller's is of an older header.
template <class T>
T read_struct(const T* given, const char* name) {
  require(given, name);
  check_struct(given, given->struct_size, kFirstBytes<T>, sizeof(T), name);
  if (given->struct_size >= sizeof(T)) return *given;  // of a size that the compiler knows
  T copy{};
  std::memcpy(&copy, given, given->struct_size);
  return copy;
}

// Checks a struct that is to be filled in. Fields that this library does not know are left as they are.
template <class T>
void check_output(const T* out, const char* name) {
  require(out, name);
  if (out->struct_size < sizeof(T)) check_struct(out, out->struct_size, sizeof(T), sizeof(T), name);
}

}  // namespace sidbeam::capi
