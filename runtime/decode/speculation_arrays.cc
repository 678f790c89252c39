// What callers see of the trees of a round.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/speculate.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {
namespace {

int32_t nodes_of(sidbeam_speculation& speculation, int32_t slot) {
  return speculation.trees.of(slot).count(speculation.slots[slot].depth);
}

// Nodes of one depth, which all have the same number of codes.
void publish_depth(sidbeam_speculation& speculation, int32_t slot, int32_t depth, int64_t offset) {
  TreeArrays& arrays = speculation.arrays;
  const SlotTree tree = speculation.trees.of(slot);
  const SpeculatedSlot& own = speculation.slots[slot];
  const int32_t level = own.level + depth, levels = speculation.shape.levels;
  const auto base = static_cast<int32_t>(slot * speculation.place_stride) + own.next_place;
  for (int32_t node = tree.firsts[depth]; node < tree.firsts[depth + 1]; ++node) {
    const int64_t at = offset + node;
    const bool prompt = level == own.start;
    const int32_t code = prompt ? -1 : tree.codes[node];
    arrays.codes[at] = code;
    arrays.tokens[at] =
        prompt ? -1 : speculation.target->vocabulary.columns[level - 1].column(static_cast<uint32_t>(code));
    arrays.positions[at] = prompt ? -1 : level - 1;
    arrays.parents[at] = depth == 0 ? -1 : static_cast<int32_t>(offset) + tree.parents[node];
    arrays.places[at] = prompt ? -1 : base + node;
    int32_t* ancestors = arrays.ancestors.data() + at * levels;
    const int32_t length = write_path(speculation, slot, node, ancestors);
    std::fill(ancestors + length, ancestors + levels, -1);
  }
}

void publish_drafts(sidbeam_speculation& speculation, int32_t slot, int64_t offset) {
  TreeArrays& arrays = speculation.arrays;
  const int32_t width = speculation.shape.width;
  const int32_t* nodes = speculation.draft_nodes.data() + int64_t{slot} * width;
  int32_t* out = arrays.draft_nodes.data() + arrays.draft_count * width;
  for (int32_t m = 0; m < width; ++m) out[m] = nodes[m] < 0 ? -1 : static_cast<int32_t>(offset) + nodes[m];
  arrays.draft_slots[arrays.draft_count++] = slot;
}

}  // namespace

int32_t write_path(sidbeam_speculation& speculation, int32_t slot, int32_t node, int32_t* places) {
  const SlotTree tree = speculation.trees.of(slot);
  const SpeculatedSlot& own = speculation.slots[slot];
  const auto base = static_cast<int32_t>(slot * speculation.place_stride) + own.next_place;
  int32_t depth = 0, root = node;
  for (; tree.parents[root] >= 0; root = tree.parents[root]) ++depth;
  const int32_t before = own.level - own.start - 1;  // places of the path to a root; -1: the root has no place either
  for (int32_t at = before + depth, n = node; at >= std::max(before, 0); --at, n = tree.parents[n])
    places[at] = base + n;
  if (before > 0) {
    const TreeShape& shape = speculation.shape;
    const int64_t beam = int64_t{slot} * shape.beams + speculation.root_beams[int64_t{slot} * shape.beams + root];
    std::copy_n(speculation.paths.data() + beam * shape.levels, before, places);
  }
  return before + depth + 1;
}

void publish_tree(sidbeam_speculation& speculation) {
  TreeArrays& arrays = speculation.arrays;
  arrays.draft_count = 0;
  arrays.node_offsets[0] = 0;
  for (int64_t i = 0; i < speculation.count; ++i) {
    const int32_t slot = speculation.list[i];
    const int64_t offset = arrays.node_offsets[i];
    const SpeculatedSlot& own = speculation.slots[slot];
    for (int32_t depth = 0; depth <= own.depth; ++depth) publish_depth(speculation, slot, depth, offset);
    if (own.drafting) publish_drafts(speculation, slot, offset);
    arrays.node_offsets[i + 1] = offset + nodes_of(speculation, slot);
  }
}

sidbeam_speculation_tree tree_of(const sidbeam_speculation& speculation) {
  const TreeArrays& arrays = speculation.arrays;
  sidbeam_speculation_tree out = SIDBEAM_SPECULATION_TREE_INIT;
  out.depth = speculation.shape.levels;
  out.count = speculation.count;
  out.slots = speculation.list.data();
  out.nodes = arrays.node_offsets[speculation.count];
  out.node_offsets = arrays.node_offsets.data();
  out.tokens = arrays.tokens.data();
  out.codes = arrays.codes.data();
  out.positions = arrays.positions.data();
  out.parents = arrays.parents.data();
  out.places = arrays.places.data();
  out.ancestors = arrays.ancestors.data();
  out.place_stride = speculation.place_stride;
  out.draft_count = arrays.draft_count;
  out.draft_slots = arrays.draft_slots.data();
  out.draft_nodes = arrays.draft_nodes.data();
  return out;
}

void fill_mask(const sidbeam_speculation& speculation, uint8_t* mask, int64_t columns) {
  if (columns < speculation.place_stride)
    fail(SIDBEAM_INVALID_ARGUMENT, "columns is %lld, expected at least %lld, the places of a slot",
         static_cast<long long>(columns), static_cast<long long>(speculation.place_stride));
  check_stride("columns", speculation.arrays.node_offsets[speculation.count], columns);
  const sidbeam_speculation_tree tree = tree_of(speculation);
  std::fill_n(mask, tree.nodes * columns, uint8_t{0});
  for (int64_t node = 0; node < tree.nodes; ++node)
    for (int32_t i = 0; i < tree.depth && tree.ancestors[node * tree.depth + i] >= 0; ++i)
      mask[node * columns + tree.ancestors[node * tree.depth + i] % tree.place_stride] = 1;
}

}  // namespace sidbeam
