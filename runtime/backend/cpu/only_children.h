// Beams with one child each, which is what deep levels are made of: their code without a row of children.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/state.h"
#include "index/tail.h"

namespace sidbeam::cpu {

// In place of a code: the beam has another number of children, or the end is its child; it is done with.
inline constexpr uint32_t kNotOne = ~0U, kDone = ~1U;

// The node of a beam that must be fed; kUnfed for one that is dead or ended.
inline constexpr uint64_t kUnfed = ~uint64_t{0};
inline uint64_t node_to_feed(int64_t state) {
  constexpr uint64_t kDeadOrEnded = uint64_t{1} << 63 | uint64_t{1} << 55;
  return (static_cast<uint64_t>(state) & kDeadOrEnded) == 0 ? state_node(state) : kUnfed;
}

// Whether edges [begin, end) are one edge that exists.
inline bool is_one_edge(uint64_t begin, uint64_t end, uint64_t edges) { return end - begin == 1 && end <= edges; }

// The level's arrays are named once, since stores might change them for all that the compiler knows.
template <class Pointer, class Token, class Visit>
inline void visit_only(const LevelView& level, const int64_t* states, int32_t n, const Visit& visit) {
  const auto* pointers = static_cast<const Pointer*>(level.row_pointers.data);
  const auto* tokens = static_cast<const Token*>(level.tokens.data);
  const uint64_t nodes = level.nodes, edges = level.edges;
  const uint32_t codes = level.codes;
  for (int32_t i = 0; i < n; ++i) {
    const uint64_t node = node_to_feed(states[i]);
    uint32_t token = kNotOne;
    if (node < nodes) {
      const uint64_t begin = pointers[node], end = pointers[node + 1];
      if (is_one_edge(begin, end, edges)) {
        token = tokens[begin];
        if (token >= codes) token = kNotOne;
      } else {
        __builtin_prefetch(tokens + std::min(begin, edges));
      }
    }
    visit(i, token);
  }
}

// In the tail of a compact trie a node of one SID has one child.
template <class Visit>
inline void visit_only_in_tail(const IndexView& index, int32_t level, const int64_t* states, int32_t n,
                               const Visit& visit) {
  const uint32_t codes = index.level[level].codes;
  read_tail(index.tail, [&](const auto& entries) {
    for (int32_t i = 0; i < n; ++i) {
      const uint64_t node = node_to_feed(states[i]);
      uint32_t token = kNotOne;
      if (node != kUnfed) {
        const Run run = run_of(index, level, node);
        if (run.count == 1) token = entries.token(tail_entry(index, run.lo, level));
      }
      visit(i, token < codes ? token : kNotOne);
    }
  });
}

// Calls visit(i, token) for i in [0, n): the code of the only child of the beam in states[i], or kNotOne. Fetches what
// scanning the others will read.
template <class Visit>
inline void for_each_only_child(const IndexView& index, int32_t number, const int64_t* states, int32_t n,
                                const Visit& visit) {
  if (is_tail_level(index, number)) return visit_only_in_tail(index, number, states, n, visit);
  const LevelView& level = index.level[number];
  const bool wide_pointers = level.row_pointers.width == 8, wide_tokens = level.tokens.width == 4;
  if (!wide_pointers && !wide_tokens) return visit_only<uint32_t, uint16_t>(level, states, n, visit);
  if (!wide_pointers) return visit_only<uint32_t, uint32_t>(level, states, n, visit);
  if (!wide_tokens) return visit_only<uint64_t, uint16_t>(level, states, n, visit);
  visit_only<uint64_t, uint32_t>(level, states, n, visit);
}

// Fetches what for_each_only_child() will read of the codes.
inline void fetch_children(const IndexView& index, int32_t number, const int64_t* states, int32_t n) {
  const LevelView& level = index.level[number];
  const bool by_run = number > index.csr_levels, by_edge = number < index.csr_levels;
  const UintArray& tokens = by_edge ? level.tokens : index.tail.tokens;
  for (int32_t i = 0; i < n; ++i) {
    const uint64_t node = node_to_feed(states[i]);
    uint64_t at = 0;
    if (by_run && node != kUnfed) at = tail_entry(index, std::min(unpack_run(node).lo, index.sids - 1), number);
    if (by_edge && node < level.nodes) at = std::min(level.row_pointers[node], level.edges);
    __builtin_prefetch(static_cast<const char*>(tokens.data) + at * static_cast<uint64_t>(tokens.width));
  }
}

}  // namespace sidbeam::cpu
