// Builds the hash set (read/find.h reads it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/progress.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the sections of the hash set. Uses the header's seed if the caller gave one. Otherwise takes the first seed of
// the list that leaves no key too far from where it begins, and stores it in the header. Throws if no seed works.
void emit_hash(const SortedCatalogue& sorted, FileHeader& header, uint8_t* base, Progress& progress);

}  // namespace sidbeam
