// SPDX-License-Identifier: Apache-2.0
#include "index/rules/leaves.h"

#include <algorithm>

#include "index/rules/bits.h"

namespace sidbeam {
namespace {

// Calls visit(ordinal, edge) for the SIDs that have their full length or go on in the tail: all but `ended`. (A damaged
// index may not tell the edges of them all.)
template <class Visit>
void for_each_longer(const IndexView& index, const uint64_t* ended, const Visit& visit) {
  const LevelView& last = index.level[index.csr_levels - 1];
  if (index.csr_levels < index.levels) {
    const LevelView& tail = index.level[index.csr_levels];
    uint64_t ordinal = 0;
    for (uint64_t node = 0; node < std::min(tail.nodes, last.edges); ++node)
      for (const uint64_t end = std::min(tail.ordinals[node + 1], index.sids); ordinal < end; ++ordinal)
        if (!has_bit(ended, ordinal)) visit(ordinal, node);
    return;
  }
  // They have the edges of the last level that are no ends, in their order.
  uint64_t edge = 0, end = 0;
  for (uint64_t ordinal = 0; ordinal < index.sids; ++ordinal) {
    if (has_bit(ended, ordinal)) continue;
    for (; end < last.ends && last.end_edges[end] <= edge; ++end) edge += last.end_edges[end] == edge ? 1 : 0;
    if (edge >= last.edges) return;
    visit(ordinal, edge++);
  }
}

}  // namespace

LeafTable::LeafTable(const IndexView& index, const Allocator& allocator)
    : levels_(allocator, static_cast<int64_t>(index.sids)) {
  uint64_t most = 0;
  for (int l = 0; l < index.csr_levels; ++l) most = std::max(most, index.level[l].edges);
  edges_ = UintBuffer(allocator, index.sids, most <= uint64_t{1} << 32 ? 4 : 8);
  // What a damaged index leaves out has the last level's first edge.
  std::fill(levels_.begin(), levels_.end(), static_cast<uint8_t>(index.csr_levels - 1));
  for (uint64_t ordinal = 0; ordinal < index.sids; ++ordinal) edges_.set(ordinal, 0);
  Buffer<uint64_t> ended = zero_bits(index.sids, allocator);
  for (int l = 1; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    for (uint64_t i = 0; i < level.ends; ++i) {
      const uint64_t ordinal = level.end_ordinals[i], edge = level.end_edges[i];
      if (ordinal >= index.sids || edge >= level.edges) continue;
      levels_[static_cast<int64_t>(ordinal)] = static_cast<uint8_t>(l);
      edges_.set(ordinal, edge);
      put_bit(ended.data(), ordinal, true);
    }
  }
  for_each_longer(index, ended.data(), [&](uint64_t ordinal, uint64_t edge) { edges_.set(ordinal, edge); });
}

void LeafTable::prefetch(uint64_t ordinal) const {
  __builtin_prefetch(levels_.data() + ordinal);
  __builtin_prefetch(edges_.view().address(ordinal));
}

}  // namespace sidbeam
