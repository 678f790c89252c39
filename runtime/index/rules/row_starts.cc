// SPDX-License-Identifier: Apache-2.0
#include "index/rules/row_starts.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "index/read/find.h"
#include "index/tail.h"
#include "index/trie.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// Whether that many nodes with rows come before end i of the level above, which is a node without one.
bool comes_after(const LevelView& above, uint64_t i, uint64_t rows) {
  const uint64_t edge = above.end_edges[i];
  return edge >= i && edge - i > rows;
}

bool has_empty_rows(const IndexView& index, int32_t level) {
  return index.variable_length && level > 0 && level < index.csr_levels;
}

// The ends of SIDs that rise, level by level.
struct EndCursor {
  uint64_t any = 0, at[kMaxLevels] = {};

  // False where the SID has its full length, or the index is damaged.
  bool find(const IndexView& index, uint64_t ordinal, Leaf& leaf) {
    any = first_where_near(any, index.ends, [&](uint64_t i) { return index.end_ordinals[i] >= ordinal; });
    if (any == index.ends || index.end_ordinals[any] != ordinal) return false;
    for (int32_t l = 1; l < index.csr_levels; ++l) {
      const LevelView& level = index.level[l];
      at[l] = first_where_near(at[l], level.ends, [&](uint64_t i) { return level.end_ordinals[i] >= ordinal; });
      if (at[l] == level.ends || level.end_ordinals[at[l]] != ordinal) continue;
      leaf = {l, level.end_edges[at[l]]};
      return true;
    }
    return false;
  }
};

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
  ends_ = Buffer<uint64_t>(allocator, lines_.size() + 1);
  uint64_t end = 0;
  for (int64_t i = 0; i < lines_.size(); ++i) {
    const uint64_t open = std::max<uint64_t>(lines_[i].before, 1) - 1;
    ends_[i] = end = first_where_near(end, above.ends, [&](uint64_t e) { return comes_after(above, e, open); });
  }
  ends_[lines_.size()] = above.ends;
}

uint64_t RowStarts::find_node(const LevelView& above, uint64_t number, const NumberRun& run) const {
  const auto line = static_cast<int64_t>(number / (64 * kWords));
  return run.before +
         first_where(ends_[line], ends_[line + 1], [&](uint64_t e) { return comes_after(above, e, run.before); });
}

NumberRun RowStarts::find(uint64_t number) const {
  const uint64_t w = number / 64;
  const Line& line = lines_[static_cast<int64_t>(w / kWords)];
  const uint64_t bits = line.bits[w % kWords];
  const uint64_t here = bits & (~uint64_t{0} >> (63 - number % 64)),
                 after = bits & ~(~uint64_t{0} >> (63 - number % 64));
  const uint64_t begun =
      line.before + (line.counts >> w % kWords * kCountBits & ((1 << kCountBits) - 1)) + bits_set(here);
  uint64_t at = w, found = here;
  while (found == 0 && at > 0) found = word(--at);
  NumberRun run{begun == 0 ? 0 : begun - 1,
                found == 0 ? 0 : at * 64 + 63 - static_cast<uint64_t>(std::countl_zero(found)), count_};
  const uint64_t words = (count_ + 63) / 64;
  for (at = w, found = after; found == 0 && at + 1 < words;) found = word(++at);
  if (found != 0) run.end = at * 64 + static_cast<uint64_t>(std::countr_zero(found));
  return run;
}

EdgeParents::EdgeParents(const IndexView& index, int threads, const Allocator& allocator) {
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

EdgeParents::Parent EdgeParents::parent_of(const IndexView& index, int32_t number, uint64_t edge) const {
  const RowStarts& runs = starts(number);
  if (number == 0) return {0, 0, index.level[0].edges};
  if (runs.empty()) return {edge, edge, edge + 1};
  const NumberRun run = runs.find(edge);
  // At the tail's first level ends of the level before have the SID that ended.
  const uint64_t node = has_empty_rows(index, number) ? runs.find_node(index.level[number - 1], edge, run) : run.before;
  return {std::min(node, index.level[number].nodes - 1), run.begin, run.end};
}

EdgeParents::Parent EdgeParents::sid_of(const IndexView& index, uint64_t item_row) const {
  const NumberRun run = items_.empty() ? NumberRun{item_row, item_row, item_row + 1} : items_.find(item_row);
  return {std::min(run.before, index.sids - 1), run.begin, run.end};
}

void EdgeParents::leaves_of(const IndexView& index, const uint64_t* ordinals, int64_t count, Leaf* leaves) const {
  const int32_t last = index.csr_levels - 1;
  const bool has_tail = index.csr_levels < index.levels;
  EndCursor cursor;
  for (int64_t i = 0; i < count; ++i) {
    Leaf leaf{last, ordinals[i]};
    if (has_tail && !ended_above_tail(index, ordinals[i])) {
      leaf.edge = parent_of(index, last + 1, ordinals[i]).node;
    } else if (index.variable_length && !cursor.find(index, ordinals[i], leaf)) {
      leaf = last_edge_of(index, ordinals[i]);
    }
    leaf.edge = std::min(leaf.edge, index.level[leaf.level].edges - 1);
    leaves[i] = leaf;
  }
}

int64_t EdgeParents::bytes() const {
  int64_t bytes = items_.bytes();
  for (const RowStarts& starts : levels_) bytes += starts.bytes();
  return bytes;
}

}  // namespace sidbeam
