// A catalogue in order: distinct SIDs and their items.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index/catalogue.h"

namespace sidbeam {

inline constexpr int64_t kChunk = int64_t{1} << 20;  // SIDs of a task

struct SortedCatalogue {
  explicit SortedCatalogue(const KeyLayout& key_layout) : layout(key_layout) {}

  uint32_t code(int level, int64_t sid) const {
    return layout.code(level, words[static_cast<size_t>(layout.place[level].word)][sid]);
  }
  bool is_end(int level, int64_t sid) const {
    return layout.variable_length && code(level, sid) == layout.codes[level];
  }
  int64_t item_count(int64_t sid) const {
    return item_offsets.size() == 0 ? 1 : item_offsets[sid + 1] - item_offsets[sid];
  }
  int64_t bytes() const;

  KeyLayout layout;
  int64_t sids = 0, items = 0, merged_pairs = 0, collisions = 0, max_items = 0;
  std::vector<Buffer<uint64_t>> words;  // by word of the key: [sids]
  Buffer<uint8_t> first_new;     // [sids] the first level in which a SID differs from the one before; 0 for SID 0
  Buffer<int64_t> item_offsets;  // [sids + 1]; empty where every SID has one item
  Buffer<int64_t> ids;           // [items] the id; with string ids the row in the catalogue
};

// Sorts a catalogue, which stays as it is, and merges what is the same.
SortedCatalogue sort_catalogue(const Catalogue& catalogue, const sidbeam_builder_config& config, int threads);

// Memory that sort_catalogue() takes at most beside the catalogue, for so many rows.
int64_t sort_bytes(const KeyLayout& layout, int64_t rows, int threads);

}  // namespace sidbeam
