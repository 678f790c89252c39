// Reading a trie that may be damaged: every value is loaded once and clamped, so that no content leads outside the
// arrays. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/views.h"

namespace sidbeam {

inline constexpr uint64_t kNoEdge = ~uint64_t{0};

// Edges [begin, begin + count) of a node.
struct Row {
  uint64_t begin = 0;
  uint32_t count = 0;
};

// The row of a node; empty for a node that does not exist.
inline Row row_of(const LevelView& level, uint64_t node) {
  if (node >= level.nodes) return {};
  const uint64_t begin = std::min(level.row_pointers[node], level.edges);
  const uint64_t end = std::clamp(level.row_pointers[node + 1], begin, level.edges);
  return {begin, static_cast<uint32_t>(std::min<uint64_t>(end - begin, uint64_t{level.codes} + 1))};
}

// The edge of `token` in a row, or kNoEdge.
inline uint64_t find_edge(const LevelView& level, const Row& row, uint32_t token) {
  uint64_t lo = row.begin, hi = row.begin + row.count;
  while (lo < hi) {
    const uint64_t middle = lo + (hi - lo) / 2;
    if (level.tokens[middle] < token) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo < row.begin + row.count && level.tokens[lo] == token ? lo : kNoEdge;
}

// The place of a node among the dense ones, or -1.
inline int64_t dense_rank(const LevelView& level, uint64_t node) {
  if (level.dense_nodes == 0 || node >= level.nodes) return -1;
  const uint64_t word = node / 64, bit = node % 64;
  if ((level.dense_bits[word] >> bit & 1) == 0) return -1;
  uint64_t rank = level.dense_ranks[node / kRankBits];
  for (uint64_t w = node / kRankBits * (kRankBits / 64); w < word; ++w)
    rank += static_cast<uint64_t>(__builtin_popcountll(level.dense_bits[w]));
  rank += static_cast<uint64_t>(__builtin_popcountll(level.dense_bits[word] & ((uint64_t{1} << bit) - 1)));
  return rank < level.dense_nodes ? static_cast<int64_t>(rank) : -1;
}

// The edge by which `token` leaves a node, or kNoEdge: by rank in the mask of a dense node, else by search in the list.
inline uint64_t find_child(const LevelView& level, uint64_t node, uint32_t token) {
  const Row row = row_of(level, node);
  const int64_t dense = dense_rank(level, node);
  if (dense < 0) return find_edge(level, row, token);
  const uint64_t place = static_cast<uint64_t>(dense), word = token / 64;
  const uint64_t* mask = level.masks + place * level.mask_words();
  if (token > level.codes || (mask[word] >> token % 64 & 1) == 0) return kNoEdge;
  uint64_t rank = level.mask_ranks[place * level.mask_rank_count() + token / kRankBits];
  for (uint64_t w = token / kRankBits * (kRankBits / 64); w < word; ++w)
    rank += static_cast<uint64_t>(__builtin_popcountll(mask[w]));
  rank += static_cast<uint64_t>(__builtin_popcountll(mask[word] & ((uint64_t{1} << token % 64) - 1)));
  return rank < row.count ? row.begin + rank : kNoEdge;
}

inline bool is_code(const LevelView& level, int32_t code) {
  return code >= 0 && static_cast<uint32_t>(code) < level.codes;
}

// Whether a node of a level, at most the first of the tail, is the end of a SID, and no node at all. No SID is empty, so no edge of the root is an end.
inline bool is_end_node(const IndexView& index, int level, uint64_t node) {
  if (!index.variable_length || level < 2) return false;
  const LevelView& above = index.level[level - 1];
  return node < above.edges && above.tokens[node] == above.codes;
}

}  // namespace sidbeam
