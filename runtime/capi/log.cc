// SPDX-License-Identifier: Apache-2.0
#include "capi/log.h"

#include <cstdarg>
#include <cstdio>

#include "support/escape.h"

namespace sidbeam::capi {

void log(const sidbeam_runtime& runtime, int32_t level, const char* format, ...) {
  if (runtime.log == nullptr || level > runtime.log_level) return;
  char message[512], line[sizeof message];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  escape_into(message, line, sizeof line);
  runtime.log(runtime.log_context, level, line);
}

}  // namespace sidbeam::capi
