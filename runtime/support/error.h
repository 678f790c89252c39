// Failures inside the library: one exception type that carries a status and a finished message without allocating.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/base.h"

namespace sidbeam {

// Thrown by everything below runtime/capi, caught only there. The message names the subject, what was expected and what
// was found.
struct Failure {
  sidbeam_status status;
  char message[sizeof(sidbeam_error::message)];
};

// Throws a Failure with a printf-style message; one that does not fit is cut.
[[noreturn]] void fail(sidbeam_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Throws what a call of another library's ABI has reported.
void check_status(sidbeam_status status, const sidbeam_error& error);

// Throws INVALID_ARGUMENT unless lowest <= value <= highest.
void check_range(const char* what, int64_t value, int64_t lowest, int64_t highest);

}  // namespace sidbeam
