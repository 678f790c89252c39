// SPDX-License-Identifier: Apache-2.0
#include "index/verify/explain.h"

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

void need_count(const char* what, int level, uint64_t header, uint64_t found) {
  if (header == found) return;
  if (level < 0)
    fail(SIDBEAM_CORRUPT, "the header's %s is %llu, the SIDs give %llu", what, static_cast<unsigned long long>(header),
         static_cast<unsigned long long>(found));
  fail(SIDBEAM_CORRUPT, "the header's %s of level %d is %llu, the SIDs give %llu", what, level,
       static_cast<unsigned long long>(header), static_cast<unsigned long long>(found));
}

}  // namespace sidbeam
