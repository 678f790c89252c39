// SPDX-License-Identifier: Apache-2.0
#include "decode/speculation_tree.h"

#include <algorithm>

namespace sidbeam {
namespace {

uint64_t key_of(int32_t parent, int32_t code) {
  return static_cast<uint64_t>(parent) << 32 | static_cast<uint32_t>(code);
}

bool comes_before(const TreeEdge& a, const TreeEdge& b) { return a.key < b.key; }

}  // namespace

int64_t TreeShape::places() const {
  int64_t sum = 0;
  for (int32_t level = 0; level < levels; ++level) sum += beams + int64_t{drafts_at(level)} * width;
  return sum;
}

SpeculationTrees::SpeculationTrees(const Allocator& allocator, const TreeShape& shape) : shape_(shape) {
  const int64_t nodes = checked_bytes(shape.slots, shape.nodes());
  codes_ = Buffer<int32_t>(allocator, nodes);
  parents_ = Buffer<int32_t>(allocator, nodes);
  edges_ = Buffer<TreeEdge>(allocator, nodes);
  firsts_ = Buffer<int32_t>::zeroed(allocator, int64_t{shape.slots} * (shape.draft_levels + 2));
}

SlotTree SpeculationTrees::of(int64_t slot) {
  const int64_t first = slot * shape_.nodes();
  return {codes_.data() + first, parents_.data() + first, edges_.data() + first,
          firsts_.data() + slot * (shape_.draft_levels + 2)};
}

void begin_depth(const SlotTree& tree, int32_t depth) {
  if (depth == 0) tree.firsts[0] = 0;
  tree.firsts[depth + 1] = tree.firsts[depth];
}

int32_t add_node(const SlotTree& tree, int32_t depth, int32_t parent, int32_t code) {
  const int32_t node = tree.firsts[depth + 1]++;
  tree.codes[node] = code;
  tree.parents[node] = parent;
  tree.edges[node] = {depth == 0 ? 0 : key_of(parent, code), node};
  return node;
}

void end_depth(const SlotTree& tree, int32_t depth) {
  std::sort(tree.edges + tree.firsts[depth], tree.edges + tree.firsts[depth + 1], comes_before);
}

int32_t find_node(const SlotTree& tree, int32_t depth, int32_t parent, int32_t code) {
  const TreeEdge *begin = tree.edges + tree.firsts[depth], *end = tree.edges + tree.firsts[depth + 1];
  const TreeEdge wanted{key_of(parent, code), 0};
  const TreeEdge* found = std::lower_bound(begin, end, wanted, comes_before);
  return found != end && found->key == wanted.key ? found->node : -1;
}

}  // namespace sidbeam
