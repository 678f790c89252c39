// SPDX-License-Identifier: Apache-2.0
#include "index/verify/corrupt.h"

#include <cstdarg>
#include <cstdio>

#include "index/names.h"
#include "support/error.h"

namespace sidbeam {

void corrupt(format::SectionKind kind, int level, const char* message, ...) {
  char text[256];
  std::va_list arguments;
  va_start(arguments, message);
  std::vsnprintf(text, sizeof text, message, arguments);
  va_end(arguments);
  fail(SIDBEAM_CORRUPT, "%s: %s", SectionName(static_cast<uint16_t>(kind), level).text, text);
}

}  // namespace sidbeam
