// A filter after some of its item rows have changed: what lies above them is set anew, edge by edge.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "index/read/find.h"
#include "index/read/lookup.h"
#include "index/rules/bits.h"
#include "index/rules/derived.h"

namespace sidbeam {
namespace {

template <class T>
Buffer<T> copy_of(const Buffer<T>& from, const Allocator& allocator) {
  Buffer<T> to(allocator, from.size());
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}

// Sets bit i where it is not that already; whether it was changed.
bool change_bit(uint64_t* bits, uint64_t i, bool value) {
  if (has_bit(bits, i) == value) return false;
  put_bit(bits, i, value);
  return true;
}

bool leaves_from(const EdgeParents::Parent& parent, uint64_t edge) { return parent.begin <= edge && edge < parent.end; }

}  // namespace

DerivedBits::DerivedBits(const IndexView& index, const EdgeParents& parents, const uint64_t* rows,
                         const DerivedBits& before, const uint64_t* changed, int64_t count, const Allocator& allocator)
    : sids_(copy_of(before.sids_, allocator)), sid_count_(before.sid_count_) {
  for (const LevelBits& level : before.levels_)
    levels_.push_back(
        {copy_of(level.edges, allocator), copy_of(level.masks, allocator), copy_of(level.mask_counts, allocator)});
  view_.rows.bits = rows;
  view_.sids.bits = sids_.size() > 0 ? sids_.data() : rows;
  Buffer<uint64_t> sids(allocator, count), edges(allocator, count);
  int64_t sid_count = 0, edge_count = 0;
  EdgeParents::Parent sid;  // of the row before
  for (int64_t i = 0; i < count; ++i) {
    parents.item_starts().fetch_ahead(changed, i, count);
    if (leaves_from(sid, changed[i])) continue;
    sid = parents.sid_of(index, changed[i]);
    const bool value = any_of(rows, sid.begin, sid.end);
    if (sids_.size() > 0 && !change_bit(sids_.data(), sid.node, value)) continue;
    sids[sid_count++] = sid.node;
    sid_count_ += value ? 1 : ~uint64_t{0};
  }
  Buffer<Leaf> leaves(allocator, sid_count);
  parents.leaves_of(index, sids.data(), sid_count, leaves.data());
  for (int32_t l = index.csr_levels - 1; l >= 0; --l) {
    edge_count = add_leaves(index, l, {sids.data(), leaves.data(), sid_count}, edges.data(), edge_count);
    edge_count = patch_level(index, parents, l, edges.data(), edge_count);
  }
  set_view(index, allocator);
}

// The edges to which SIDs themselves lead: at the last level above the tail and, where lengths vary, at any.
int64_t DerivedBits::add_leaves(const IndexView& index, int32_t number, const ChangedSids& changed, uint64_t* edges,
                                int64_t count) {
  const bool last = number + 1 == index.csr_levels, has_tail = index.csr_levels < index.levels;
  if (!last && !index.variable_length) return count;
  Buffer<uint64_t>& own = levels_[static_cast<size_t>(number)].edges;
  for (int64_t i = 0; i < changed.count; ++i) {
    if (last && has_tail && i + RowStarts::kAhead < changed.count)
      __builtin_prefetch(index.level[number + 1].ordinals.address(changed.leaves[i + RowStarts::kAhead].edge));
    const Leaf leaf = changed.leaves[i];
    if (leaf.level != number) continue;
    Run run{changed.sids[i], 1};
    if (last && has_tail) run = run_of(index, index.csr_levels, leaf.edge);
    const bool value = any_of(view_.sids.bits, run.lo, run.lo + run.count);
    if (own.size() == 0 || change_bit(own.data(), leaf.edge, value)) edges[count++] = leaf.edge;
  }
  return count;
}

void DerivedBits::patch_mask(const LevelView& level, int32_t number, int64_t dense, uint64_t edge, bool value) {
  LevelBits& own = levels_[static_cast<size_t>(number)];
  const auto code = static_cast<uint32_t>(level.tokens[edge]);
  if (code > level.codes) return;
  uint64_t* mask = own.masks.data() + static_cast<uint64_t>(dense) * level.mask_words();
  if (change_bit(mask, code, value)) own.mask_counts[dense] += value ? 1U : ~0U;
}

int64_t DerivedBits::patch_level(const IndexView& index, const EdgeParents& parents, int32_t number, uint64_t* edges,
                                 int64_t count) {
  const LevelView& level = index.level[number];
  const bool has_masks = levels_[static_cast<size_t>(number)].masks.size() > 0;
  Buffer<uint64_t>* const above = number > 0 ? &levels_[static_cast<size_t>(number) - 1].edges : nullptr;
  const bool rises = above != nullptr && above->size() > 0;  // otherwise that level has the same bits
  if (!has_masks && !rises) return count;
  const uint64_t* bits = bits_of(number);
  EdgeParents::Parent parent;  // of the edge before, and often of this one too
  int64_t dense = -1, kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    parents.starts(number).fetch_ahead(edges, i, count);
    if (has_masks && i + RowStarts::kAhead < count)
      __builtin_prefetch(level.tokens.address(edges[i + RowStarts::kAhead]));
    const uint64_t edge = edges[i];
    if (!leaves_from(parent, edge)) {
      parent = parents.parent_of(index, number, edge);
      dense = has_masks && parent.end - parent.begin >= kLeastDense ? dense_rank(level, parent.node) : -1;
      if (rises && change_bit(above->data(), parent.node, any_of(bits, parent.begin, parent.end)))
        edges[kept++] = parent.node;
    }
    if (dense >= 0) patch_mask(level, number, dense, edge, has_bit(bits, edge));
  }
  return rises ? kept : count;
}

}  // namespace sidbeam
