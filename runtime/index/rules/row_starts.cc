// SPDX-License-Identifier: Apache-2.0
#include "index/rules/row_starts.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "index/read/find.h"
#include "index/rules/bits.h"
#include "index/trie.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// Whether that many nodes with rows come before end i of the level above, which is a node without one.
bool comes_after(const LevelView& above, uint64_t i, uint64_t rows) {
  const uint64_t edge = above.end_edges[i];
  return edge >= i && edge - i > rows;
}

bool has_one_each(const IndexView& index, const LevelView& level) {
  return !index.variable_length && level.nodes == level.edges;
}

}  // namespace

RowStarts::RowStarts(const UintArray& pointers, uint64_t runs, uint64_t count, int threads, const Allocator& allocator)
    : lines_(Buffer<Line>::zeroed(allocator, static_cast<int64_t>(count / (64 * kWords) + 1))), count_(count) {
  constexpr uint64_t kTask = 1 << 16;
  const auto set = [&](uint64_t w, uint64_t bits) {
    uint64_t& word = lines_[static_cast<int64_t>(w / kWords)].bits[w % kWords];
    std::atomic_ref(word).fetch_or(bits, std::memory_order_relaxed);  // tasks share words at their borders
  };
  with_type(pointers, [&](const auto* begins) {
    parallel_for(threads, static_cast<int64_t>((runs + kTask - 1) / kTask), [&](int64_t task) {
      const uint64_t first = static_cast<uint64_t>(task) * kTask, last = std::min(first + kTask, runs);
      uint64_t word = 0, bits = 0;
      for (uint64_t run = first; run < last; ++run) {
        const uint64_t begin = begins[run];
        if (begin >= begins[run + 1] || begin >= count) continue;
        if (begin / 64 != word) {
          if (bits != 0) set(word, bits);
          word = begin / 64;
          bits = 0;
        }
        bits |= uint64_t{1} << begin % 64;
      }
      if (bits != 0) set(word, bits);
    });
  });
  uint64_t before = 0;
  for (Line& line : lines_) {
    line.before = before;
    for (uint64_t i = 0; i < kWords; ++i) {
      line.counts |= (before - line.before) << i * kCountBits;
      before += bits_set(line.bits[i]);
    }
  }
}

void RowStarts::number_nodes(const LevelView& above, const Allocator& allocator) {
  nodes_ = Buffer<uint64_t>(allocator, lines_.size());
  with_runs_ = all_bits(above.edges, allocator);
  put_bits(with_runs_.data(), above.edges, above.end_edges, above.ends, false);
  uint64_t end = 0;
  for (int64_t i = 0; i < lines_.size(); ++i) {
    const uint64_t open = std::max<uint64_t>(lines_[i].before, 1) - 1;
    end = first_where_near(end, above.ends, [&](uint64_t e) { return comes_after(above, e, open); });
    nodes_[i] = std::min(open + end, above.edges);
  }
}

// (To search the level's ends for how many come before took half of the time of a list of excluded items.)
uint64_t RowStarts::find_node(uint64_t number, const NumberRun& run) const {
  const auto line = static_cast<int64_t>(number / (64 * kWords));
  uint64_t left = run.before + 1 - std::max<uint64_t>(lines_[line].before, 1);  // runs from the open one on
  int64_t word = static_cast<int64_t>(nodes_[line] / 64);
  uint64_t bits = with_runs_[word] & ~uint64_t{0} << nodes_[line] % 64;
  for (uint64_t here = bits_set(bits); here <= left; here = bits_set(bits)) {
    if (word + 1 == with_runs_.size()) return static_cast<uint64_t>(word) * 64;  // damaged
    left -= here;
    bits = with_runs_[++word];
  }
  for (; left > 0; --left) bits &= bits - 1;
  return static_cast<uint64_t>(word) * 64 + static_cast<uint64_t>(std::countr_zero(bits));
}

// In two steps, since where to look for the node depends on the number's line.
void RowStarts::fetch_ahead(const uint64_t* numbers, int64_t i, int64_t count) const {
  if (empty()) return;
  if (i + kAhead < count) {
    const uint64_t line = numbers[i + kAhead] / (64 * kWords);
    __builtin_prefetch(lines_.data() + line);
    if (nodes_.size() > 0) __builtin_prefetch(nodes_.data() + line);
  }
  if (nodes_.size() > 0 && i + kAhead / 2 < count) {
    const uint64_t number = numbers[i + kAhead / 2], line = number / (64 * kWords);
    const uint64_t near = (nodes_[static_cast<int64_t>(line)] + number % (64 * kWords)) / 64;
    __builtin_prefetch(with_runs_.data() + std::min(near, static_cast<uint64_t>(with_runs_.size() - 1)));
  }
}

EdgeParents::EdgeParents(const IndexView& index, int threads, const Allocator& allocator) : allocator_(allocator) {
  for (int l = 0; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    levels_.push_back(l == 0 || has_one_each(index, level)
                          ? RowStarts()
                          : RowStarts(level.row_pointers, level.nodes, level.edges, threads, allocator));
    if (has_empty_rows(index, l)) levels_.back().number_nodes(index.level[l - 1], allocator);
  }
  if (index.csr_levels < index.levels) {
    const LevelView& tail = index.level[index.csr_levels];
    levels_.push_back(RowStarts(tail.ordinals, tail.nodes, index.sids, threads, allocator));
  }
  if (index.item_offsets) items_ = RowStarts(index.item_offsets, index.sids, index.items, threads, allocator);
}

EdgeParents::Parent EdgeParents::sid_of(const IndexView& index, uint64_t item_row) const {
  const NumberRun run = items_.empty() ? NumberRun{item_row, item_row, item_row + 1} : items_.find(item_row);
  return {std::min(run.before, index.sids - 1), run.begin, run.end};
}

void EdgeParents::leaves_of(const IndexView& index, const uint64_t* ordinals, int64_t count, Leaf* leaves) const {
  const int32_t last = index.csr_levels - 1;
  const bool has_tail = index.csr_levels < index.levels;
  if (count == 0) return;
  if (index.variable_length) {
    const LeafTable& table = leaves_.get([&] { return std::make_unique<const LeafTable>(index, allocator_); });
    for (int64_t i = 0; i < count; ++i) {
      if (i + RowStarts::kAhead < count) table.prefetch(ordinals[i + RowStarts::kAhead]);
      leaves[i] = table.leaf_of(ordinals[i]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (has_tail) starts(last + 1).fetch_ahead(ordinals, i, count);
    const uint64_t edge = has_tail ? parent_of(index, last + 1, ordinals[i]).node : ordinals[i];
    leaves[i] = {last, std::min(edge, index.level[last].edges - 1)};
  }
}

}  // namespace sidbeam
