// Nodes of several children: finds their rows, and the nodes that winners lead to. All beams are handled in one kernel,
// so that the target's own instruction for counting bits is inlined. (One call per count was slower.)
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_NODES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_NODES_INL
#undef SIDBEAM_CPU_NODES_INL
#else
#define SIDBEAM_CPU_NODES_INL
#endif

#include "backend/cpu/kernels.h"
#include "backend/cpu/only_children.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// BitsBefore over all words of a group, without branches: words past the last one, which may lie past the array, are
// not read.
struct CountBits {
  uint64_t operator()(const uint64_t* words, uint64_t bit) const {
    constexpr uint64_t kWords = kRankBits / 64;
    const uint64_t* first = words + bit / kRankBits * kWords;
    const uint64_t last = bit / 64 % kWords;
    uint64_t count = hwy::PopCount(first[last] & ((uint64_t{1} << bit % 64) - 1));
    for (uint64_t w = 0; w + 1 < kWords; ++w) count += hwy::PopCount(w < last ? first[w < last ? w : last] : 0);
    return count;
  }
};

// The level is copied, since the compiler must assume that stores change it.
inline void find_rows(const LevelView& view, const int64_t* states, int32_t n, const uint32_t* only, NodeRow* rows) {
  const LevelView level = view;
  for (int32_t i = 0; i < n; ++i)
    if (only[i] == kNotOne) rows[i] = node_row(level, node_to_feed(states[i]), CountBits());
}

inline void follow_rows(const IndexView& index, int32_t number, const NodeRow* rows, const Winners& winners) {
  const LevelView level = index.level[number];
  const int64_t next_level = encode_state({number + 1, false, NodeKind::kTrie, 0});
  const int64_t ended = encode_state({0, true, NodeKind::kTrie, 0});
  for (int32_t i = 0; i < winners.n; ++i) {
    if (winners.states[i] != kDeadState) continue;
    const auto token = static_cast<uint32_t>(winners.tokens[i]);
    const uint64_t edge = find_child(level, rows[winners.parents[i]], token, CountBits());
    if (edge == kNoEdge) continue;
    const bool ends = index.variable_length && token == level.codes;
    winners.states[i] = next_level | static_cast<int64_t>(edge) | (ends ? ended : 0);
  }
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
