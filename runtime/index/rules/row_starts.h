// Which node an edge leaves from, and which edges leave from there too: a bit per edge, set where a node's edges begin,
// with counts beside the bits, so that one cache line answers. So too which node of the tail's first level a SID is
// below, and which SID an item row belongs to. Derived from pointers of the index, which may be damaged: what is found
// is always in range.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "index/read/lookup.h"
#include "index/rules/leaves.h"
#include "index/views.h"
#include "support/lazy.h"
#include "support/memory.h"

namespace sidbeam {

// A run of numbers, and how many runs that are not empty come before it.
struct NumberRun {
  uint64_t before = 0, begin = 0, end = 0;
};

// Runs of the numbers [0, count): run i is [pointers[i], pointers[i + 1]), and may be empty.
class RowStarts {
 public:
  static constexpr int64_t kAhead = 16;  // numbers for which memory is fetched in advance
  static constexpr uint64_t kWords = 6;  // of bits in a line

  RowStarts() = default;
  RowStarts(const UintArray& pointers, uint64_t runs, uint64_t count, int threads, const Allocator& allocator);
  // Makes find_node() and nodes_with_runs() possible: `above` is the level before, whose ends are the nodes with empty
  // runs.
  void number_nodes(const LevelView& above, const Allocator& allocator);
  // The run of a number < count.
  NumberRun find(uint64_t number) const;
  // The node of that run, those with empty runs counted too.
  uint64_t find_node(uint64_t number, const NumberRun& run) const;
  const uint64_t* nodes_with_runs() const { return with_runs_.data(); }
  bool is_start(uint64_t number) const { return (word(number / 64) >> number % 64 & 1) != 0; }
  // The bits of numbers [64 w, 64 w + 64).
  uint64_t word(uint64_t w) const { return lines_[static_cast<int64_t>(w / kWords)].bits[w % kWords]; }
  // Fetches the memory for a number that comes some way after number i of [count], whose runs are found one by one.
  void fetch_ahead(const uint64_t* numbers, int64_t i, int64_t count) const;
  bool empty() const { return lines_.size() == 0; }
  uint64_t count() const { return count_; }

 private:
  // Counts for every word: where the line's earlier words were counted, a list of 10,000 rows took 1.2 to 1.4 times as
  // long.
  struct Line {
    uint64_t before;  // runs that begin before this line
    uint64_t counts;  // and in it before word i: kCountBits from i * kCountBits on
    uint64_t bits[kWords];
  };
  static constexpr uint64_t kCountBits = 9;

  Buffer<Line> lines_;
  Buffer<uint64_t> nodes_;      // [lines] that of the run which is open where a line begins
  Buffer<uint64_t> with_runs_;  // nodes that have runs, as bits
  uint64_t count_ = 0;
};

// Those of an index.
class EdgeParents {
 public:
  EdgeParents(const IndexView& index, int threads, const Allocator& allocator);
  // The node from which edge < edges of a level above the tail leaves, and all edges that do; the node of the tail's
  // first level above SID `edge`, and the SIDs from its first to the next node's, where `level` is that.
  struct Parent {
    uint64_t node = 0, begin = 0, end = 0;
  };
  Parent parent_of(const IndexView& index, int32_t level, uint64_t edge) const;
  // The SID of an item row, as `node`, and all item rows that it has.
  Parent sid_of(const IndexView& index, uint64_t item_row) const;
  // The last edges above the tail on the paths of SIDs. Where lengths vary, the first call makes a table of them.
  void leaves_of(const IndexView& index, const uint64_t* ordinals, int64_t count, Leaf* leaves) const;
  // Empty where every SID has one row.
  const RowStarts& item_starts() const { return items_; }
  // Empty where every node of the level has one edge.
  const RowStarts& starts(int32_t level) const { return levels_[static_cast<size_t>(level)]; }

 private:
  std::vector<RowStarts> levels_;
  RowStarts items_;
  Allocator allocator_;
  Lazy<LeafTable> leaves_;
};

inline NumberRun RowStarts::find(uint64_t number) const {
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

// Whether nodes of a level may have no row: ends of the level before.
inline bool has_empty_rows(const IndexView& index, int32_t level) {
  return index.variable_length && level > 0 && level < index.csr_levels;
}

inline EdgeParents::Parent EdgeParents::parent_of(const IndexView& index, int32_t number, uint64_t edge) const {
  const RowStarts& runs = starts(number);
  if (number == 0) return {0, 0, index.level[0].edges};
  if (runs.empty()) return {edge, edge, edge + 1};
  const NumberRun run = runs.find(edge);
  // At the tail's first level ends of the level before have the SID that ended.
  const uint64_t node = has_empty_rows(index, number) ? runs.find_node(edge, run) : run.before;
  return {std::min(node, index.level[number].nodes - 1), run.begin, run.end};
}

}  // namespace sidbeam
