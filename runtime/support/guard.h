// The boundary between libraries. Neither exceptions, which become a status and a message, nor the caller's
// floating-point mode cross it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <stdexcept>

#include "sidbeam/base.h"
#include "support/error.h"
#include "support/float_mode.h"
#include "support/structs.h"

namespace sidbeam {

template <>
inline constexpr size_t kFirstBytes<sidbeam_error> = 512;

// Writes the outcome where the caller wants it, and returns its status.
sidbeam_status report(sidbeam_error* err, sidbeam_status status, const char* message) noexcept;

// Runs `call` in the default floating-point mode; whatever it throws becomes a status and a message. Threads that it
// starts inherit the mode, but a host's threads have their own.
template <class Call>
sidbeam_status guarded(sidbeam_error* err, const Call& call) noexcept {
  const DefaultFloatMode mode;
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

}  // namespace sidbeam
