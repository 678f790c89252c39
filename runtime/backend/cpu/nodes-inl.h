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
#include "backend/cpu/lists-inl.h"
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

// find_child() of a code that follows; lists of up to a vector are compared as a whole.
template <class Token>
HWY_INLINE uint64_t find_in_vector(const LevelView& level, const NodeRow& node, uint32_t token) {
  const uint64_t begin = node.row.begin;
  if (node.row.count > static_cast<uint32_t>(kWidth) || begin + uint64_t{kWidth} > level.edges)
    return find_child(level, node, token, CountBits());
  const auto codes = load_codes(static_cast<const Token*>(level.tokens.data), begin, level.edges);
  const auto found = hn::And(hn::RebindMask(F32(), hn::Eq(codes, hn::Set(U32(), token))),
                             lanes_of(static_cast<int32_t>(node.row.count), 0));
  const intptr_t at = hn::FindFirstTrue(F32(), found);
  return at >= 0 ? begin + static_cast<uint64_t>(at) : kNoEdge;
}

inline void follow_rows(const IndexView& index, int32_t number, const NodeRow* rows, const Winners& winners) {
  const LevelView level = index.level[number];
  const int64_t next_level = encode_state({number + 1, false, NodeKind::kTrie, 0});
  const int64_t ended = encode_state({0, true, NodeKind::kTrie, 0});
  for (int32_t i = 0; i < winners.n; ++i) {
    if (winners.states[i] != kDeadState) continue;
    const auto token = static_cast<uint32_t>(winners.tokens[i]);
    const NodeRow& node = rows[winners.parents[i]];
    const uint64_t edge = level.tokens.width == 2 ? find_in_vector<uint16_t>(level, node, token)
                                                  : find_in_vector<uint32_t>(level, node, token);
    if (edge == kNoEdge) continue;
    const bool ends = index.variable_length && token == level.codes;
    winners.states[i] = next_level | static_cast<int64_t>(edge) | (ends ? ended : 0);
  }
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
