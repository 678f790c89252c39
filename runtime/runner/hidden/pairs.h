// The children of many beams, sorted by column: which rows of weights are needed, and by whom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/hidden/dots.h"
#include "support/memory.h"

namespace sidbeam::runner {

// One thread at a time.
class PairSorter {
 public:
  PairSorter(const Allocator& allocator, int64_t columns, int64_t most_pairs);

  void begin();
  // The row's products with columns [count]: into values first_value, first_value + 1, ...
  void count(const int32_t* columns, int64_t count);
  // After all have been counted: the same again, row by row.
  void place();
  void add(int32_t row, const int32_t* columns, int64_t count, int64_t first_value);
  // After all have been added; columns rise. `rows` and `values` are left to the caller.
  PairList list() const;

  int64_t memory_bytes() const { return starts_.bytes() + distinct_.bytes() + begins_.bytes() + pairs_.bytes(); }

 private:
  Buffer<int32_t> starts_;             // [columns] while counting: pairs; then where the next one goes
  Buffer<int32_t> distinct_, begins_;  // columns that have pairs, and where these begin
  Buffer<Pair> pairs_;
  int64_t distinct_count_ = 0;
};

}  // namespace sidbeam::runner
