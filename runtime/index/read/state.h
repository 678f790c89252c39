// The opaque word that a beam carries: the level, the node and how to read the node.
//
//   bit 63  sign: set only in -1, dead        bits 52..53  kind of node
//   bits 55..62  level                        bits 0..47   node
//   bit 54  ended
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/overlay.h"
#include "index/tail.h"
#include "index/trie.h"
#include "index/views.h"

namespace sidbeam {

inline constexpr int64_t kDeadState = -1;

enum class NodeKind : uint8_t {
  kTrie = 0,    // a node of the level, or a leaf at level L. Ended: the edge of the end, numbered as a node. With bit
                // 47 it is one of the delta (overlay.h)
  kSorted = 1,  // the first ordinal with the prefix
  kOpaque = 2,  // unconstrained: only the history has the codes
  kTail = 3     // below the first level of the tail: a run; bits 0..39: first ordinal, 40..45: length - 1
};

struct State {
  int32_t level = 0;
  bool ended = false;
  NodeKind kind = NodeKind::kTrie;
  uint64_t node = 0;
};

inline constexpr int kLevelShift = 55, kEndedShift = 54, kKindShift = 52;
inline constexpr uint64_t kDeadOrEnded = uint64_t{1} << 63 | uint64_t{1} << kEndedShift;
inline constexpr uint64_t kNodeBits = (uint64_t{1} << 48) - 1;

SIDBEAM_HD inline int64_t encode_state(const State& state) {
  return static_cast<int64_t>(static_cast<uint64_t>(state.level) << kLevelShift |
                              static_cast<uint64_t>(state.ended) << kEndedShift |
                              static_cast<uint64_t>(state.kind) << kKindShift | state.node);
}

SIDBEAM_HD inline bool is_live(int64_t word) { return word >= 0; }
SIDBEAM_HD inline bool is_ended(int64_t word) { return word >= 0 && (word >> kEndedShift & 1) != 0; }
SIDBEAM_HD inline uint64_t state_node(int64_t word) { return static_cast<uint64_t>(word) & kNodeBits; }

SIDBEAM_HD inline State decode_state(int64_t word) {
  return {static_cast<int32_t>(word >> kLevelShift), (word >> kEndedShift & 1) != 0,
          static_cast<NodeKind>(word >> kKindShift & 3), state_node(word)};
}

// The state's node in the delta.
SIDBEAM_HD inline State delta_state(const State& state) {
  return {state.level, state.ended, NodeKind::kTrie, state.node & ~kDeltaNode};
}

// The state's node in the base, where a state of the delta has one.
SIDBEAM_HD inline State base_state(const IndexView& index, int32_t level, uint64_t node, bool ended = false) {
  return {level, ended, level > index.csr_levels ? NodeKind::kTail : NodeKind::kTrie, node};
}

// is_trie_state() of the base alone, for a state of at most `levels` levels.
SIDBEAM_HD inline bool is_base_state(const IndexView& index, const State& state) {
  if (state.level > index.csr_levels) {
    const Run run = unpack_run(state.node);
    return state.kind == NodeKind::kTail && pack_run(run) == state.node && is_run(index, state.level, run, state.ended);
  }
  if (state.kind != NodeKind::kTrie) return false;
  if (state.level == 0) return state.node == 0 && !state.ended;
  const LevelView& above = index.level[state.level - 1];
  return state.node < above.edges && state.ended == (index.variable_length && above.tokens[state.node] == above.codes);
}

// Whether a word can be a trie state of `index`. The only promise about other words is that they are dead.
SIDBEAM_HD inline bool is_trie_state(const IndexView& index, int64_t word) {
  if (word < 0) return false;
  const State state = decode_state(word);
  if (encode_state(state) != word || state.level > index.levels) return false;
  const bool added = state.level > 0 && in_delta(index, state.level, state.node);
  if (added && state.kind != NodeKind::kTrie) return false;
  State own = state;
  if (added) own.node &= ~kDeltaNode;
  return is_base_state(added ? *index.overlay->delta : index, own);
}

// follow() in the base alone.
SIDBEAM_HD_INLINE bool follow_base(const IndexView& index, State& state, uint32_t token) {
  const LevelView& level = index.level[state.level];
  const bool ended = index.variable_length && token == level.codes;
  if (is_tail_level(index, state.level)) {
    const Run run = tail_child(index, state.level, run_of(index, state.level, state.node), token);
    if (run.count == 0) return false;
    state = {state.level + 1, ended, NodeKind::kTail, pack_run(run)};
  } else {
    const uint64_t edge = find_child(level, state.node, token);
    if (edge == kNoEdge) return false;
    state = {state.level + 1, ended, NodeKind::kTrie, edge};
  }
  return true;
}

// Advances a trie state by `token`; returns false if the token may not follow. The state must be neither ended nor at
// the last level. From one of the delta it leads to a node that something was added below or, failing that, to one of
// the base. (One loop over the tries, so that kernels have follow_base() once.)
SIDBEAM_HD inline bool follow(const IndexView& index, State& state, uint32_t token) {
  const IndexView* trie = &index;
  uint64_t node = state.node, base = kNoNode;
  if (in_delta(index, state.level, node)) {
    trie = index.overlay->delta;
    node &= ~kDeltaNode;
    if (node >= trie->level[state.level].nodes) return false;
    base = base_of(*index.overlay, state.level, node);
  }
  for (;; trie = &index, node = base, base = kNoNode) {
    State next{state.level, false, NodeKind::kTrie, node};
    if (follow_base(*trie, next, token)) {
      const uint64_t mark = trie != &index ? kDeltaNode : 0;
      state = {next.level, next.ended, next.kind, next.node | mark};
      return true;
    }
    if (base == kNoNode) return false;
  }
}

#if !defined(__CUDA_ARCH__)
// next_state() from a state of the delta. Not inline, since next_state() stands in hot loops and comes here for
// snapshots alone.
__attribute__((noinline)) inline int64_t next_in_delta(const IndexView& index, int64_t word, uint32_t token) {
  State state = decode_state(word);
  return follow(index, state, token) ? encode_state(state) : kDeadState;
}
#endif

// The state after `token`, or dead if the token may not follow. The given trie state must be neither dead, ended nor at
// the last level.
SIDBEAM_HD inline int64_t next_state(const IndexView& index, int64_t word, uint32_t token) {
  State state = decode_state(word);
#if defined(__CUDA_ARCH__)
  return follow(index, state, token) ? encode_state(state) : kDeadState;
#else
  if (in_delta(index, state.level, state.node)) return next_in_delta(index, word, token);
  return follow_base(index, state, token) ? encode_state(state) : kDeadState;
#endif
}

// Advances the initial state by a prefix of codes; returns false if no SID has the prefix. prefix[l] is a code: of an
// array, or of what stands for one on a device.
template <class Codes>
SIDBEAM_HD bool follow_prefix(const IndexView& index, const Codes& prefix, int length, State& state) {
  for (int l = 0; l < length; ++l) {
    if (!is_code(index.level[l], prefix[l]) || !follow(index, state, static_cast<uint32_t>(prefix[l]))) return false;
  }
  return true;
}

// Calls visit(token) for each code or end that may follow a state. The state must be neither dead, ended nor at the
// last level.
template <class Visit>
SIDBEAM_HD void for_each_child(const IndexView& index, const State& state, const Visit& visit) {
  if (is_tail_level(index, state.level) && !in_delta(index, state.level, state.node)) {
    uint32_t tokens[kMaxRun];
    const uint32_t count = tail_children(index, state.level, run_of(index, state.level, state.node), tokens);
    for (uint32_t i = 0; i < count; ++i) visit(tokens[i]);
    return;
  }
  const NodePlace place = node_place(index, state.level, state.node);
  const LevelView& level = *place.level;
  const Row row = row_of(level, place.node);
  for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge)
    visit(static_cast<uint32_t>(level.tokens[edge]));
}

}  // namespace sidbeam
