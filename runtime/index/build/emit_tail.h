// Builds the tail of a compact trie (index/tail.h reads it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/build/progress.h"
#include "index/build/scan.h"

namespace sidbeam {

// The first level below the root at which no node has more than kMaxRun SIDs, or 0 if there is none.
int first_tail_level(const SortedCatalogue& sorted);
// The value of first_tail_level() to expect for uniformly drawn SIDs with the counts of `shape`.
int expected_tail_level(const Shape& shape);

// Fills the sections of the tail, including the ordinals of its first level, in one pass over the SIDs.
void emit_tail(const SortedCatalogue& sorted, const LevelScan& scan, const std::vector<Section>& sections,
               uint8_t* base, int threads, Progress& progress);

}  // namespace sidbeam
