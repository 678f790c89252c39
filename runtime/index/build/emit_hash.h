// Builds the hash set (read/find.h reads it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/progress.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the sections of the hash set. Uses the header's seed if the caller gave one; otherwise the first seed of the
// list with which no key lies too far from where it begins, and sets the header's. Throws where there is none.
void emit_hash(const SortedCatalogue& sorted, FileHeader& header, uint8_t* base, Progress& progress);

}  // namespace sidbeam
