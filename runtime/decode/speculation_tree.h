// The trees of a round of speculation, one per slot: the target's beams as roots, and the draft's beams below them, in
// flat arrays that are taken once. A node is a prefix; its parent, a number within the slot, comes before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/memory.h"

namespace sidbeam {

struct TreeShape {
  int32_t slots = 0;
  int32_t beams = 0, width = 0;  // K and N
  int32_t draft_levels = 0, levels = 0;

  // Most nodes of a slot.
  int64_t nodes() const { return beams + int64_t{draft_levels} * width; }
  // Most levels that are worth drafting when `level` codes are decided.
  int32_t drafts_at(int32_t level) const {
    const int32_t left = levels - 1 - level;
    return left < 0 ? 0 : left < draft_levels ? left : draft_levels;
  }
  // Most places of keys and values that a request uses, if every round gains one level.
  int64_t places() const;
};

// A code that continues a node, and the node that it leads to.
struct TreeEdge {
  uint64_t key = 0;
  int32_t node = 0;
};

// The tree of a slot; arrays are [nodes].
struct SlotTree {
  int32_t *codes = nullptr, *parents = nullptr;
  TreeEdge* edges = nullptr;  // by depth, then sorted
  int32_t* firsts = nullptr;  // [draft_levels + 2] first node of each depth, and the end

  int32_t count(int32_t depth) const { return firsts[depth + 1]; }
};

class SpeculationTrees {
 public:
  SpeculationTrees() = default;
  SpeculationTrees(const Allocator& allocator, const TreeShape& shape);
  SlotTree of(int64_t slot);
  int64_t memory_bytes() const { return codes_.bytes() + parents_.bytes() + firsts_.bytes() + edges_.bytes(); }

 private:
  TreeShape shape_;
  Buffer<int32_t> codes_, parents_, firsts_;
  Buffer<TreeEdge> edges_;
};

// Begins a depth: 0 the roots.
void begin_depth(const SlotTree& tree, int32_t depth);
// Adds a node to the depth that was begun last. Parent -1: a root.
int32_t add_node(const SlotTree& tree, int32_t depth, int32_t parent, int32_t code);
// Sorts the edges of a depth, after which find_node() finds them.
void end_depth(const SlotTree& tree, int32_t depth);
// The node at a depth that a code leads to; -1: none.
int32_t find_node(const SlotTree& tree, int32_t depth, int32_t parent, int32_t code);

}  // namespace sidbeam
