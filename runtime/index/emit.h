// From sorted SIDs to sections: count what each level holds, then fill arrays of exactly that size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/catalogue.h"
#include "index/format.h"
#include "index/header.h"
#include "index/sorted.h"

namespace sidbeam {

// Where the chunks of kChunk SIDs begin in the arrays of a level.
struct LevelStarts {
  std::vector<uint64_t> edges, ends;  // [chunks + 1]
};

struct Scan {
  FileHeader header;                // without sections, metadata and checksums
  std::vector<LevelStarts> starts;  // [levels]
};

// Counts nodes, edges, ends and longest rows of every level, whatever the kinds.
Scan scan_levels(const Catalogue& catalogue, const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                 int threads);

// Fills the header's sections at base + offset, and the seed of a hash set into the header. Touches nothing else.
void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const Scan& scan, FileHeader& header,
                   uint8_t* base, const sidbeam_builder_config& config, int threads);

// XXH3-128 of levels, codes, SIDs and items; by the sections' contents, not their encoding.
// known_ids: the XXH3-128 of integer ids, where it is known already.
Hash128 fingerprint(const IndexView& index, const std::vector<Hash128>& column_digests,
                    const Hash128* known_ids = nullptr);
// The digest of one level: XXH3-128 of its codes as u32.
std::vector<Hash128> column_digests(const SortedCatalogue& sorted, const sidbeam_builder_config& config, int threads);

}  // namespace sidbeam
