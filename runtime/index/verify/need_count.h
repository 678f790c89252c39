// The header's counts against what the contents give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

// Throws Failure(CORRUPT) unless both are the same. level < 0: a count of the whole index.
void need_count(const char* what, int level, uint64_t header, uint64_t found);

}  // namespace sidbeam
