// Counts what each level of a sorted catalogue holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Where the chunks of kTaskSids SIDs begin in the arrays of a level.
struct LevelStarts {
  std::vector<uint64_t> edges, ends;  // [chunks + 1]
};

struct LevelScan {
  FileHeader header;                // without sections, metadata and checksums
  std::vector<LevelStarts> starts;  // [levels]
};

// Counts nodes, edges, ends and longest rows of every level, regardless of the kinds to be built.
LevelScan scan_levels(const Catalogue& catalogue, const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                      int threads);

}  // namespace sidbeam
