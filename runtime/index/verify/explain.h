// Reports on the CPU what is wrong with an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/format.h"
#include "index/verify/checks.h"

namespace sidbeam {

// Fails with "section <kind> of level <level>: <message>".
[[noreturn]] void corrupt(format::SectionKind kind, int level, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

// Compares a count of the header with the count found in the contents. level < 0: a count of the whole index.
void need_count(const char* what, int level, uint64_t header, uint64_t found);

// The Report of checks.h that throws Failure(CORRUPT) at the first violated rule.
struct Explain {
  template <class... Numbers>
  bool need(bool holds, format::SectionKind kind, int level, Message<Numbers...> message, Numbers... numbers) const {
    if (!holds) [[unlikely]]
      corrupt(kind, level, message.text, static_cast<unsigned long long>(numbers)...);
    return true;
  }
};
inline constexpr Explain kExplain;

}  // namespace sidbeam
