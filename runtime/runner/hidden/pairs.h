// The children of many beams, sorted by chunks of columns: which rows of weights are needed, and by whom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runner/hidden/dots.h"
#include "support/memory.h"

namespace sidbeam::runner {

// Floats that the second-level cache holds, as far as chunks make use of it.
int64_t second_level_floats();

struct PairLimits {
  int64_t columns = 0, rows = 0, pairs = 0, width = 0, threads = 1;
  // Inputs of all rows' hidden states, of a block, that stay in the second-level cache by themselves. (Chunks made
  // steps of one request a third slower there.)
  int64_t near_inputs = second_level_floats();
  int64_t chunk_weights = second_level_floats() / 2;  // at most kChunkWeights

  // Whether columns may be taken in chunks, where there are `count` rows.
  bool may_chunk(int64_t count) const { return count * std::min(width, kDotBlock) > near_inputs; }
};

// One thread at a time.
class PairSorter {
 public:
  PairSorter(const Allocator& allocator, const PairLimits& limits);

  void begin();
  // The row's products with columns [count]: into values first_value, first_value + 1, ...
  void count(const int32_t* columns, int64_t count);
  // After all have been counted, of `rows` rows: the same again, row by row.
  void place(int64_t rows);
  void add(int32_t row, const int32_t* columns, int64_t count, int64_t first_value);
  // After all have been added. `rows` and `values` are left to the caller.
  const PairList& list() const { return list_; }

  int64_t memory_bytes() const {
    return ranks_.bytes() + columns_.bytes() + starts_.bytes() + pairs_.bytes() + packed_.bytes();
  }

 private:
  PairLimits limits_;
  // [columns] while counting: pairs; then the column's number among those that have some, or, in chunks of one column,
  // where its next pair goes.
  Buffer<int32_t> ranks_;
  Buffer<int32_t> columns_;  // those that have some, and room for one more
  // [chunks + 1] of pairs; in chunks of several columns, [chunk + 1] is where its next pair goes while they are added.
  Buffer<int32_t> starts_;
  Buffer<Pair> pairs_;
  Buffer<float> packed_;
  PairList list_;
};

}  // namespace sidbeam::runner
