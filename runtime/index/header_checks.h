// A header against itself. Constant time in the size of the file; both throw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/header.h"

namespace sidbeam {

// The counts against each other.
void check_counts(const FileHeader& header);
// The sections against what the counts demand, from where the header ends. Afterwards every array has the size that its
// view promises. Fills in the kinds of sections that there are.
void check_sections(FileHeader& header, uint64_t header_end);

}  // namespace sidbeam
