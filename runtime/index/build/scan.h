// Counts the contents of each level of a sorted catalogue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Where each chunk of kTaskSids SIDs begins in the arrays of a level.
struct LevelStarts {
  std::vector<uint64_t> edges, ends;  // [chunks + 1]
};

struct LevelScan {
  FileHeader header;                // without sections, metadata and checksums
  std::vector<LevelStarts> starts;  // [levels]
};

// Counts the nodes, edges, ends and longest rows of every level, whatever kinds are to be built.
LevelScan scan_levels(const Catalogue& catalogue, const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                      int threads);

}  // namespace sidbeam
