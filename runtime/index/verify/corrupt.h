// How verification says what is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/format.h"

namespace sidbeam {

// Fails with "section <kind> of level <level>: <message>".
[[noreturn]] void corrupt(format::SectionKind kind, int level, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace sidbeam
