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

}  // namespace sidbeam
