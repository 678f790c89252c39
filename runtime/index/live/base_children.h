// The children of a node of the base as one list, above the tail and in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/overlay.h"
#include "index/tail.h"
#include "index/trie.h"

namespace sidbeam {

struct BaseChildren {
  uint32_t count = 0;
  Row row;             // their edges; empty in the tail
  int64_t dense = -1;  // the node's place among those with masks

  // `node` is numbered as in a state.
  BaseChildren(const IndexView& base, int level, uint64_t node) {
    if (is_tail_level(base, level)) {
      in_tail_ = true;
      const Run sids = run_of(base, level, node);
      count = sids.count > 0 ? tail_children(base, level, sids, codes_) : 0;
      return;
    }
    const NodeRow found = node_row(base.level[level], node);
    const UintArray& all = base.level[level].tokens;
    row = found.row;
    dense = found.dense;
    count = row.count;
    tokens_ = {all.address(row.begin), all.width};
  }
  UintArray tokens() const { return in_tail_ ? UintArray{codes_, sizeof *codes_} : tokens_; }  // [count], rising

 private:
  UintArray tokens_;
  bool in_tail_ = false;
  uint32_t codes_[kMaxRun];
};

// Fetch what BaseChildren, and a search for a child, will read of a node: first where its row is, and once that has
// come the row. (Always inline: gcc 12 drops calls of a function that does nothing but prefetch.)
__attribute__((always_inline)) inline void fetch_row_place(const IndexView& base, int level, uint64_t node) {
  const LevelView& at = base.level[level];
  const UintArray& first = level < base.csr_levels ? at.row_pointers : at.ordinals;
  if (level <= base.csr_levels && node < at.nodes) __builtin_prefetch(first.address(node));
}

__attribute__((always_inline)) inline void fetch_row(const IndexView& base, int level, uint64_t node) {
  const LevelView& at = base.level[level];
  const UintArray& tokens = level < base.csr_levels ? at.tokens : base.tail.tokens;
  uint64_t place = 0;
  if (level < base.csr_levels) {
    place = row_of(at, node).begin;
  } else {
    uint64_t lo = unpack_run(node).lo;
    if (level == base.csr_levels) lo = node < at.nodes ? at.ordinals[node] : 0;
    place = tail_entry(base, std::min(lo, base.sids - 1), level);
  }
  __builtin_prefetch(tokens.address(place));
}

// The same of nodes that are read in their order, some way ahead of nodes[i].
__attribute__((always_inline)) inline void fetch_children_ahead(const IndexView& base, int level, const uint64_t* nodes,
                                                                int64_t i, int64_t count) {
  constexpr int64_t kFar = 24, kNear = 12;
  if (i + kFar < count) fetch_row_place(base, level, nodes[i + kFar]);
  if (i + kNear < count) fetch_row(base, level, nodes[i + kNear]);
}

}  // namespace sidbeam
