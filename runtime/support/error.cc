// SPDX-License-Identifier: Apache-2.0
#include "support/error.h"

#include <cstdarg>
#include <cstdio>

#include "support/float_mode.h"

namespace sidbeam {

void fail(sidbeam_status status, const char* format, ...) {
  const DefaultFloatEnvironment environment;  // printf rounds numbers as the x87 is told to
  Failure failure{};
  failure.status = status;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(failure.message, sizeof failure.message, format, arguments);
  va_end(arguments);
  throw failure;
}

void check_status(sidbeam_status status, const sidbeam_error& error) {
  if (status != SIDBEAM_OK) fail(status, "%s", error.message);
}

void check_range(const char* what, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return;
  if (highest == INT64_MAX)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected %lld or more", what, static_cast<long long>(value),
         static_cast<long long>(lowest));
  fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected %lld..%lld", what, static_cast<long long>(value),
       static_cast<long long>(lowest), static_cast<long long>(highest));
}

}  // namespace sidbeam
