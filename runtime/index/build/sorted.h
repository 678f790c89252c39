// A sorted catalogue: distinct SIDs and their items.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index/build/catalogue.h"

namespace sidbeam {

// Besides SIDBEAM_COLLISIONS_*: even identical pairs are not merged, but ordered as they came.
inline constexpr int32_t kKeepIdentical = -1;

inline constexpr int64_t kTaskSids = int64_t{1} << 18;    // SIDs per task
inline constexpr int64_t kCachedSids = int64_t{1} << 13;  // SIDs that stay in the first-level cache

// The codes of one level, indexed by ordinal.
struct CodeColumn {
  const uint64_t* words = nullptr;
  uint64_t mask = 0;
  int shift = 0;
  uint32_t end = 0;  // the code of the end; larger than every code if lengths are fixed
  uint32_t operator[](int64_t sid) const { return static_cast<uint32_t>(words[sid] >> shift & mask); }
  bool is_end(int64_t sid) const { return (*this)[sid] == end; }
};

struct SortedCatalogue {
  explicit SortedCatalogue(const KeyLayout& key_layout) : layout(key_layout) {}

  CodeColumn column(int level) const {
    const KeyLayout::Place& place = layout.place[level];
    return {words[static_cast<size_t>(place.word)].data(), (uint64_t{1} << place.bits) - 1, place.shift,
            layout.variable_length ? layout.codes[level] : ~uint32_t{0}};
  }
  // For each SID in [begin, end), writes the last level at which it has an edge: that of its last code or of its end.
  void last_levels(int64_t begin, int64_t end, uint8_t* out) const;
  int64_t bytes() const;

  KeyLayout layout;
  int64_t sids = 0, items = 0, merged_pairs = 0, collisions = 0, max_items = 0;
  int64_t sort_bytes = 0;  // memory that sorting takes in addition to the catalogue
  // The buffers have room for all rows of the catalogue: they are filled before the duplicates are known.
  std::vector<Buffer<uint64_t>> words;  // one buffer per word of the key: [sids]
  Buffer<uint8_t> first_new;     // [sids] the first level at which a SID differs from the previous one; 0 for SID 0
  Buffer<int64_t> item_offsets;  // [sids + 1]; empty if every SID has one item
  Buffer<uint64_t> rows;         // [items] the row in the catalogue
};

// Sorts a catalogue and merges duplicates. Leaves the catalogue unchanged, except that the row which is kept of those
// that merge gets the attributes that it lacks from the others.
SortedCatalogue sort_catalogue(Catalogue& catalogue, const sidbeam_builder_config& config, int threads);

// The memory of a sorted catalogue of `rows` rows, and the most memory that sort_catalogue() takes.
int64_t sorted_bytes(const KeyLayout& layout, int64_t rows);
int64_t most_bytes_to_sort(const KeyLayout& layout, int64_t rows, int threads);

}  // namespace sidbeam
