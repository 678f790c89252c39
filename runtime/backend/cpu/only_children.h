// Beams with one child each, as most are at deep levels. The code of that child is found without a row of children.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/read/state.h"
#include "index/tail.h"

namespace sidbeam::cpu {

// Instead of a code: the beam has no child or several, or its child is the end.
inline constexpr uint32_t kNotOne = ~0U;

// The node of a beam that must be fed; kUnfed for one that is dead or ended.
inline constexpr uint64_t kUnfed = ~uint64_t{0};
inline uint64_t node_to_feed(int64_t state) {
  return (static_cast<uint64_t>(state) & kDeadOrEnded) == 0 ? state_node(state) : kUnfed;
}

// Of a state that is dead or at a node of the delta.
inline constexpr uint64_t kDeadOrDelta = uint64_t{1} << 63 | kDeltaNode;

inline bool are_fed(const int64_t* states, int32_t n) {
  uint64_t any = 0;
  for (int32_t i = 0; i < n; ++i) any |= static_cast<uint64_t>(states[i]);
  return (any & kDeadOrEnded) == 0;
}

// Whether edges [begin, end) are one edge that exists.
inline bool is_one_edge(uint64_t begin, uint64_t end, uint64_t edges) { return end - begin == 1 && end <= edges; }

// The states of n beams, and what is found for each: the code of its only child and the state after it, or kNotOne and
// kDeadState.
struct OnlyChildren {
  const int64_t* states;
  int32_t n;
  uint32_t* tokens;
  int64_t* next;
};

// The level's arrays are loaded once, since the compiler must assume that stores change them.
template <class Pointer, class Token>
inline void find_in_lists(const IndexView& index, int32_t number, const OnlyChildren& beams) {
  const LevelView& level = index.level[number];
  const auto* pointers = static_cast<const Pointer*>(level.row_pointers.data);
  const auto* codes = static_cast<const Token*>(level.tokens.data);
  const uint64_t nodes = level.nodes, edges = level.edges;
  const uint32_t code_count = level.codes;
  const int64_t next_level = encode_state({number + 1, false, NodeKind::kTrie, 0}), *states = beams.states;
  uint32_t* tokens = beams.tokens;
  int64_t* next = beams.next;
  for (int32_t i = 0; i < beams.n; ++i) {
    const uint64_t node = node_to_feed(states[i]);
    uint32_t token = kNotOne;
    int64_t after = kDeadState;
    if (node < nodes) {
      const uint64_t begin = pointers[node], end = pointers[node + 1];
      if (is_one_edge(begin, end, edges)) {
        const uint32_t code = codes[begin];
        if (code < code_count) token = code, after = next_level | static_cast<int64_t>(begin);
      } else {
        __builtin_prefetch(codes + std::min(begin, edges));
      }
    }
    tokens[i] = token;
    next[i] = after;
  }
}

// In the tail of a compact trie a node of one SID has one child.
inline void find_in_tail(const IndexView& index, int32_t level, const OnlyChildren& beams) {
  const uint32_t codes = index.level[level].codes;
  const int64_t next_level = encode_state({level + 1, false, NodeKind::kTail, 0});
  read_tail(index.tail, [&](const auto& entries) {
    for (int32_t i = 0; i < beams.n; ++i) {
      const uint64_t node = node_to_feed(beams.states[i]);
      beams.tokens[i] = kNotOne;
      beams.next[i] = kDeadState;
      if (node == kUnfed) continue;
      const Run run = run_of(index, level, node);
      if (run.count != 1) continue;
      const uint32_t token = entries.token(tail_entry(index, run.lo, level));
      if (token >= codes) continue;
      beams.tokens[i] = token;
      beams.next[i] = next_level | static_cast<int64_t>(pack_run(run));
    }
  });
}

// Above or in the tail of the base.
inline void find_in_base(const IndexView& index, int32_t number, const OnlyChildren& beams) {
  if (is_tail_level(index, number)) return find_in_tail(index, number, beams);
  const LevelView& level = index.level[number];
  const bool wide_pointers = level.row_pointers.width == 8, wide_tokens = level.tokens.width == 4;
  if (!wide_pointers && !wide_tokens) return find_in_lists<uint32_t, uint16_t>(index, number, beams);
  if (!wide_pointers) return find_in_lists<uint32_t, uint32_t>(index, number, beams);
  if (!wide_tokens) return find_in_lists<uint64_t, uint16_t>(index, number, beams);
  find_in_lists<uint64_t, uint32_t>(index, number, beams);
}

// For the beams at nodes of the delta.
inline void find_in_delta(const IndexView& index, int32_t number, const OnlyChildren& beams) {
  const uint32_t codes = index.level[number].codes;
  for (int32_t i = 0; i < beams.n; ++i) {
    const uint64_t node = node_to_feed(beams.states[i]);
    if (node == kUnfed || !in_delta(index, number, node)) continue;
    const NodePlace place = node_place(index, number, node);
    const Row row = row_of(*place.level, place.node);
    const auto token = row.count == 1 ? static_cast<uint32_t>(place.level->tokens[row.begin]) : kNotOne;
    beams.tokens[i] = token < codes ? token : kNotOne;
    beams.next[i] = token < codes ? next_state(index, beams.states[i], token) : kDeadState;
  }
}

// The same at any level. Prefetches what scanning the beams of several children will read.
inline void find_only_children(const IndexView& index, int32_t number, const OnlyChildren& beams) {
  find_in_base(index, number, beams);
  if (index.overlay != nullptr) find_in_delta(index, number, beams);
}

// Always inline: gcc 12 takes a function that does nothing but prefetch for one without effects, and drops calls of it.
#define SIDBEAM_PREFETCHES __attribute__((always_inline)) inline

// Prefetches the codes that find_only_children() will read.
SIDBEAM_PREFETCHES void fetch_children(const IndexView& index, int32_t number, const int64_t* states, int32_t n) {
  const LevelView& level = index.level[number];
  const bool by_run = number > index.csr_levels, by_edge = number < index.csr_levels;
  const UintArray& tokens = by_edge ? level.tokens : index.tail.tokens;
  for (int32_t i = 0; i < n; ++i) {
    const uint64_t node = node_to_feed(states[i]);
    uint64_t at = 0;
    if (by_run && node != kUnfed) at = tail_entry(index, std::min(unpack_run(node).lo, index.sids - 1), number);
    if (by_edge && node < level.nodes) at = std::min(level.row_pointers[node], level.edges);
    __builtin_prefetch(tokens.address(at));
  }
}

// The array in which the step after that of `level` looks up nodes; empty where it looks up none.
inline UintArray looked_up_next(const IndexView& index, int32_t level) {
  const int32_t next = level + 1;
  if (next > index.csr_levels || next == index.levels) return {};
  return next < index.csr_levels ? index.level[next].row_pointers : index.level[next].ordinals;
}

// Prefetches what that step looks up for n states.
SIDBEAM_PREFETCHES void fetch_next(const IndexView& index, int32_t level, const int64_t* states, int32_t n) {
  const UintArray ahead = looked_up_next(index, level);
  if (!ahead) return;
  for (int32_t i = 0; i < n; ++i)
    if ((static_cast<uint64_t>(states[i]) & kDeadOrDelta) == 0)
      __builtin_prefetch(ahead.address(state_node(states[i])));
}

}  // namespace sidbeam::cpu
