// Checks that a header is consistent, in time independent of the file's size. Both functions throw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/header.h"

namespace sidbeam {

// Checks the counts against each other.
void check_counts(const FileHeader& header);
// Checks the sections against the counts and fills in which kinds there are. Sections begin after `header_end`.
// Afterwards every array has the size that its view promises.
void check_sections(FileHeader& header, uint64_t header_end);

}  // namespace sidbeam
