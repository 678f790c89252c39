// Which node an edge leaves from, in a few loads: a bit per edge, set where a node's edges begin, and the number of such
// bits before each 512. So too which node of the tail's first level a SID is below, and which SID an item row belongs to.
// Derived from pointers of the index, which may be damaged: what is found is always in range.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/read/lookup.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

// Runs of numbers: run i is [pointers[i], pointers[i + 1]), and may be empty.
class RowStarts {
 public:
  RowStarts() = default;
  RowStarts(const UintArray& pointers, uint64_t runs, uint64_t numbers, int threads, const Allocator& allocator);
  // How many runs with numbers begin at or before number i; none is empty: run_of(i) + 1.
  uint64_t begun(uint64_t i) const;
  void prefetch(uint64_t i) const {
    __builtin_prefetch(bits_.data() + i / 64);
    __builtin_prefetch(ranks_.data() + i / kRankBits);
  }
  bool empty() const { return bits_.size() == 0; }
  int64_t bytes() const { return bits_.bytes() + ranks_.bytes(); }

 private:
  Buffer<uint64_t> bits_, ranks_;
};

// Those of an index.
class EdgeParents {
 public:
  EdgeParents(const IndexView& index, int threads, const Allocator& allocator);
  // The node from which edge < edges of a level above the tail leaves; the node of the tail's first level above SID
  // `edge`, where `level` is that.
  uint64_t node_of(const IndexView& index, int32_t level, uint64_t edge) const;
  uint64_t ordinal_of(const IndexView& index, uint64_t item_row) const;
  // The last edge above the tail on the path of a SID.
  Leaf leaf_of(const IndexView& index, uint64_t ordinal) const;
  void prefetch(int32_t level, uint64_t edge) const {
    if (!levels_[static_cast<size_t>(level)].empty()) levels_[static_cast<size_t>(level)].prefetch(edge);
  }
  void prefetch_item(uint64_t item_row) const {
    if (!items_.empty()) items_.prefetch(item_row);
  }
  int64_t bytes() const;

 private:
  std::vector<RowStarts> levels_;  // empty where every node has one edge
  RowStarts items_;                // empty where every SID has one row
};

}  // namespace sidbeam
