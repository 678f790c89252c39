// The opaque word that a beam carries: level, node and how to read the node.
//
//   bit 63  sign: set only in -1, dead        bits 53..54  kind of node
//   bits 56..62  level                        bits 0..47   node
//   bit 55  ended
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/trie.h"
#include "index/views.h"

namespace sidbeam {

inline constexpr int64_t kDeadState = -1;

enum class NodeKind : uint8_t {
  kTrie = 0,    // a node of the level; at level L a leaf. Ended: the edge, seen as a node, that was the end
  kSorted = 1,  // the first ordinal with the prefix
  kOpaque = 2   // unconstrained: the codes are in the history only
};

struct State {
  int32_t level = 0;
  bool ended = false;
  NodeKind kind = NodeKind::kTrie;
  uint64_t node = 0;
};

inline int64_t encode_state(const State& state) {
  return static_cast<int64_t>(static_cast<uint64_t>(state.level) << 56 | static_cast<uint64_t>(state.ended) << 55 |
                              static_cast<uint64_t>(state.kind) << 53 | state.node);
}

inline bool is_live(int64_t word) { return word >= 0; }
inline bool is_ended(int64_t word) { return word >= 0 && (word >> 55 & 1) != 0; }
inline uint64_t state_node(int64_t word) { return static_cast<uint64_t>(word) & ((uint64_t{1} << 48) - 1); }

inline State decode_state(int64_t word) {
  return {static_cast<int32_t>(word >> 56), (word >> 55 & 1) != 0, static_cast<NodeKind>(word >> 53 & 3),
          state_node(word)};
}

// Whether a word can be a state of the trie of `index`; the only promise about the others is that they are dead.
inline bool is_trie_state(const IndexView& index, int64_t word) {
  if (word < 0) return false;
  const State state = decode_state(word);
  if (encode_state(state) != word || state.kind != NodeKind::kTrie || state.level > index.levels) return false;
  if (state.level == 0) return state.node == 0 && !state.ended;
  const LevelView& above = index.level[state.level - 1];
  return state.node < above.edges && state.ended == (index.variable_length && above.tokens[state.node] == above.codes);
}

// The state after `token` in a state of the trie that is neither dead, ended nor at the last level; dead where the
// token may not follow.
inline int64_t next_state(const IndexView& index, int64_t word, uint32_t token, BitsBefore count = bits_before) {
  const State state = decode_state(word);
  const LevelView& level = index.level[state.level];
  const uint64_t edge = find_child(level, state.node, token, count);
  if (edge == kNoEdge) return kDeadState;
  return encode_state({state.level + 1, index.variable_length && token == level.codes, NodeKind::kTrie, edge});
}

}  // namespace sidbeam
