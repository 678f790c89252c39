// The edge between C and C++: no exception passes it, no struct is trusted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <new>
#include <stdexcept>

#include "sidbeam/base.h"
#include "support/error.h"

namespace sidbeam::capi {

// Writes the outcome where the caller wants it, and returns its status.
sidbeam_status report(sidbeam_error* err, sidbeam_status status, const char* message) noexcept;

// Runs `call`; whatever it throws becomes a status and a message.
template <class Call>
sidbeam_status guarded(sidbeam_error* err, const Call& call) noexcept {
  try {
    call();
    return SIDBEAM_OK;
  } catch (const Failure& failure) {
    return report(err, failure.status, failure.message);
  } catch (const std::bad_alloc&) {
    return report(err, SIDBEAM_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return report(err, SIDBEAM_OUT_OF_MEMORY, "out of memory: a size overflows");
  } catch (const std::exception& exception) {
    return report(err, SIDBEAM_INTERNAL, exception.what());
  } catch (...) {
    return report(err, SIDBEAM_INTERNAL, "unknown failure");
  }
}

// Throws INVALID_ARGUMENT where a pointer that must be there is not.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s is NULL, expected an object", name);
}

// Checks struct_size, and that nothing is asked for in fields that came after this library. `smallest` is the size of the struct's first version.
void check_struct(const void* given, uint32_t struct_size, size_t smallest, size_t known, const char* name);

// A copy of a caller's struct, whole even where the caller's is of an older header. Fields added later read as zero there.
template <class T>
T read_struct(const T* given, const char* name) {
  require(given, name);
  check_struct(given, given->struct_size, sizeof(T), sizeof(T), name);
  T copy{};
  std::memcpy(&copy, given, sizeof(T));
  return copy;
}

// Checks a struct that is to be filled in. Fields that this library does not know are left as they are.
template <class T>
void check_output(const T* out, const char* name) {
  require(out, name);
  if (out->struct_size < sizeof(T)) check_struct(out, out->struct_size, sizeof(T), sizeof(T), name);
}

}  // namespace sidbeam::capi
