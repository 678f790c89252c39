// Checks a header against itself, in time independent of the file's size. Both functions throw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/header.h"

namespace sidbeam {

// Checks the counts against each other.
void check_counts(const FileHeader& header);
// Checks the sections, which begin after `header_end`, against the counts, and fills in which kinds there are.
// Afterwards every array has the size that its view promises.
void check_sections(FileHeader& header, uint64_t header_end);

}  // namespace sidbeam
