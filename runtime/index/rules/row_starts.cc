// SPDX-License-Identifier: Apache-2.0
#include "index/rules/row_starts.h"

#include <algorithm>
#include <atomic>

#include "index/read/find.h"
#include "index/tail.h"
#include "index/trie.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// Nodes of a level that are ends of the level before and so have no row: the runs without numbers.
uint64_t with_ends(const LevelView& above, uint64_t begun) {
  return begun + first_where(0, above.ends, [&](uint64_t i) {
           const uint64_t edge = above.end_edges[i];
           return edge >= i && edge - i > begun;
         });
}

bool has_one_each(const IndexView& index, const LevelView& level) {
  return !index.variable_length && level.nodes == level.edges;
}

}  // namespace

RowStarts::RowStarts(const UintArray& pointers, uint64_t runs, uint64_t numbers, int threads,
                     const Allocator& allocator)
    : bits_(Buffer<uint64_t>::zeroed(allocator, static_cast<int64_t>(numbers / 64 + 1))),
      ranks_(allocator, static_cast<int64_t>(numbers / kRankBits + 1)) {
  constexpr uint64_t kTask = 1 << 16;
  with_type(pointers, [&](const auto* begins) {
    parallel_for(threads, static_cast<int64_t>((runs + kTask - 1) / kTask), [&](int64_t task) {
      const uint64_t first = static_cast<uint64_t>(task) * kTask, last = std::min(first + kTask, runs);
      uint64_t word = ~uint64_t{0}, set = 0;
      // Words at the borders of tasks are shared.
      const auto flush = [&] {
        if (set != 0) std::atomic_ref(bits_[static_cast<int64_t>(word)]).fetch_or(set, std::memory_order_relaxed);
      };
      for (uint64_t run = first; run < last; ++run) {
        const uint64_t begin = begins[run];
        if (begin >= begins[run + 1] || begin >= numbers) continue;
        if (begin / 64 != word) {
          flush();
          word = begin / 64;
          set = 0;
        }
        set |= uint64_t{1} << begin % 64;
      }
      flush();
    });
  });
  uint64_t count = 0;
  for (int64_t w = 0; w < bits_.size(); ++w) {
    if (w % (kRankBits / 64) == 0) ranks_[w / (kRankBits / 64)] = count;
    count += bits_set(bits_[w]);
  }
}

uint64_t RowStarts::begun(uint64_t i) const {
  const uint64_t before = ranks_[static_cast<int64_t>(i / kRankBits)] + BitsBefore()(bits_.data(), i);
  return before + (bits_[static_cast<int64_t>(i / 64)] >> i % 64 & 1);
}

EdgeParents::EdgeParents(const IndexView& index, int threads, const Allocator& allocator) {
  for (int l = 0; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    levels_.push_back(l == 0 || has_one_each(index, level)
                          ? RowStarts()
                          : RowStarts(level.row_pointers, level.nodes, level.edges, threads, allocator));
  }
  if (index.csr_levels < index.levels) {
    const LevelView& tail = index.level[index.csr_levels];
    levels_.push_back(RowStarts(tail.ordinals, tail.nodes, index.sids, threads, allocator));
  }
  if (index.item_offsets) items_ = RowStarts(index.item_offsets, index.sids, index.items, threads, allocator);
}

uint64_t EdgeParents::node_of(const IndexView& index, int32_t number, uint64_t edge) const {
  const LevelView& level = index.level[number];
  const RowStarts& starts = levels_[static_cast<size_t>(number)];
  if (starts.empty()) return number == 0 ? 0 : edge;
  const uint64_t begun = starts.begun(edge);
  const uint64_t run = begun == 0 ? 0 : begun - 1;
  // At the tail's first level ends of the level before have the SID that ended.
  const bool has_empty = index.variable_length && number > 0 && number < index.csr_levels;
  return std::min(has_empty ? with_ends(index.level[number - 1], run) : run, level.nodes - 1);
}

uint64_t EdgeParents::ordinal_of(const IndexView& index, uint64_t item_row) const {
  if (items_.empty()) return std::min(item_row, index.sids - 1);
  const uint64_t begun = items_.begun(item_row);
  return std::min(begun == 0 ? 0 : begun - 1, index.sids - 1);
}

Leaf EdgeParents::leaf_of(const IndexView& index, uint64_t ordinal) const {
  const int32_t last = index.csr_levels - 1;
  if (last + 1 < index.levels && !ended_above_tail(index, ordinal))
    return {last, std::min(node_of(index, last + 1, ordinal), index.level[last].edges - 1)};
  Leaf leaf{last, ordinal};
  if (index.variable_length) leaf = last_edge_of(index, ordinal);
  leaf.edge = std::min(leaf.edge, index.level[leaf.level].edges - 1);
  return leaf;
}

int64_t EdgeParents::bytes() const {
  int64_t bytes = items_.bytes();
  for (const RowStarts& starts : levels_) bytes += starts.bytes();
  return bytes;
}

}  // namespace sidbeam
