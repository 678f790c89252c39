// Structs and pointers from callers of the C ABI; none is trusted. (support/guard.h handles exceptions.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "support/cpu_target.h"
#include "support/error.h"
#include "support/guard.h"
#include "support/memory.h"

namespace sidbeam {

template <>
inline constexpr size_t kFirstBytes<sidbeam_allocator> = 32;

}  // namespace sidbeam

namespace sidbeam::capi {

// Throws INVALID_ARGUMENT if a required pointer is missing.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s is NULL, expected an object", name);
}

// Checks a struct_size; `smallest` is the size of the struct's first version.
void check_size(uint32_t struct_size, size_t smallest, const char* name);
// The same for an input; also refuses values in fields that are newer than this library.
void check_struct(const void* given, uint32_t struct_size, size_t smallest, size_t known, const char* name);

// A copy of a caller's struct, whole even where the caller's is of an older header.
template <class T>
T read_struct(const T* given, const char* name) {
  static_assert(kFirstBytes<T> >= sizeof(uint32_t) && kFirstBytes<T> <= sizeof(T), "see first_version.h");
  require(given, name);
  check_struct(given, given->struct_size, kFirstBytes<T>, sizeof(T), name);
  if (given->struct_size >= sizeof(T)) return *given;  // a copy of a size known to the compiler
  T copy{};
  std::memcpy(&copy, given, given->struct_size);
  return copy;
}

// Checks a struct that is to be filled in, by write_struct().
template <class T>
void check_output(const T* out, const char* name) {
  require(out, name);
  check_size(out->struct_size, kFirstBytes<T>, name);
}

// The caller's functions, or, for NULL, the C library's; `name` is that of the field.
Allocator read_allocator(const sidbeam_allocator* given, const char* name);

// The instruction set that config.cpu_target names; NULL: the best that this machine has. Throws UNSUPPORTED.
CpuTarget read_cpu_target(const char* name);

}  // namespace sidbeam::capi
