// Reads a trie that may be damaged. Every value is loaded once and clamped, so that no content leads outside the
// arrays.
// SPDX-License-Identifier: Apache-2.0
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
SIDBEAM_HD inline Row row_of(const LevelView& level, uint64_t node) {
  if (node >= level.nodes) return {};
  const uint64_t begin = std::min(level.row_pointers[node], level.edges);
  const uint64_t end = clamped(level.row_pointers[node + 1], begin, level.edges);
  return {begin, static_cast<uint32_t>(std::min<uint64_t>(end - begin, uint64_t{level.codes} + 1))};
}

// The edge of `token` in a row, or kNoEdge. The binary search is branch-free: a branch would be mispredicted half of
// the time.
SIDBEAM_HD inline uint64_t find_edge(const LevelView& level, const Row& row, uint32_t token) {
  if (row.count == 0) return kNoEdge;
  uint64_t edge = row.begin;
  for (uint64_t left = row.count; left > 1;) {
    const uint64_t half = left / 2;
    edge += half & (uint64_t{0} - static_cast<uint64_t>(level.tokens[edge + half - 1] < token));
    left -= half;
  }
  return level.tokens[edge] == token ? edge : kNoEdge;
}

// The number of bits set in a word. Without -mpopcnt, x86-64 would call a libgcc function ten times per child.
SIDBEAM_HD inline uint64_t bits_set(uint64_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint64_t>(__popcll(word));
#elif defined(__POPCNT__) || defined(__aarch64__)
  return static_cast<uint64_t>(__builtin_popcountll(word));
#else
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101 >> 56;
#endif
}

// Counts the set bits before `bit` in the group that shares its rank. The parameter `Count` below may do this with
// other instructions.
struct BitsBefore {
  SIDBEAM_HD uint64_t operator()(const uint64_t* words, uint64_t bit) const {
    const uint64_t word = bit / 64;
    uint64_t count = bits_set(words[word] & ((uint64_t{1} << bit % 64) - 1));
    for (uint64_t w = bit / kRankBits * (kRankBits / 64); w < word; ++w) count += bits_set(words[w]);
    return count;
  }
};

// The position of a node among the dense nodes, or -1.
template <class Count = BitsBefore>
SIDBEAM_HD inline int64_t dense_rank(const LevelView& level, uint64_t node, Count count = {}) {
  if (level.dense_nodes == 0 || node >= level.nodes) return -1;
  if (level.dense_nodes == level.nodes) return static_cast<int64_t>(node);  // every node is dense
  if ((level.dense_bits[node / 64] >> node % 64 & 1) == 0) return -1;
  const uint64_t rank = level.dense_ranks[node / kRankBits] + count(level.dense_bits, node);
  return rank < level.dense_nodes ? static_cast<int64_t>(rank) : -1;
}

// How to find the children of a node: its row, and the position of its mask among the masks, or -1.
struct NodeRow {
  Row row;
  int64_t dense = -1;
};

template <class Count = BitsBefore>
SIDBEAM_HD inline NodeRow node_row(const LevelView& level, uint64_t node, Count count = {}) {
  const Row row = row_of(level, node);
  return {row, row.count >= kLeastDense ? dense_rank(level, node, count) : -1};
}

SIDBEAM_HD inline const uint64_t* mask_of(const LevelView& level, int64_t dense) {
  return level.masks + static_cast<uint64_t>(dense) * level.mask_words();
}

// The edge of `token` from a node, or kNoEdge. The lookup is direct if the node has every code, by rank if it has a
// mask, and otherwise searches the list.
template <class Count = BitsBefore>
SIDBEAM_HD inline uint64_t find_child(const LevelView& level, const NodeRow& node, uint32_t token, Count count = {}) {
  const Row& row = node.row;
  if (row.count >= level.codes && token < row.count && level.tokens[row.begin + token] == token)
    return row.begin + token;
  if (node.dense < 0) return find_edge(level, row, token);
  const uint64_t* mask = mask_of(level, node.dense);
  if (token > level.codes || (mask[token / 64] >> token % 64 & 1) == 0) return kNoEdge;
  const uint64_t group = static_cast<uint64_t>(node.dense) * level.mask_rank_count() + token / kRankBits;
  const uint64_t rank = level.mask_ranks[group] + count(mask, token);
  return rank < row.count ? row.begin + rank : kNoEdge;
}

SIDBEAM_HD inline uint64_t find_child(const LevelView& level, uint64_t node, uint32_t token) {
  return find_child(level, node_row(level, node), token);
}

SIDBEAM_HD inline bool is_code(const LevelView& level, int32_t code) {
  return code >= 0 && static_cast<uint32_t>(code) < level.codes;
}

// Whether a node of a level (at most the first of the tail) is the end of a SID rather than a real node. No SID is
// empty, so no edge of the root is an end.
SIDBEAM_HD inline bool is_end_node(const IndexView& index, int level, uint64_t node) {
  if (!index.variable_length || level < 2) return false;
  const LevelView& above = index.level[level - 1];
  return node < above.edges && above.tokens[node] == above.codes;
}

}  // namespace sidbeam
