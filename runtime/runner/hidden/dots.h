// Inner products of hidden states and rows of weights that lie anywhere. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/hidden/output_layer.h"
#include "runner/math/workers.h"

namespace sidbeam::runner {

// Inputs whose products are summed before the next ones; within a block, lane i of kDotLanes is one chain of fused
// multiply-adds over the inputs i, i + kDotLanes, ... in rising order, and the lanes are folded in halves. A logit is
// its bias plus the blocks' sums in rising order, on every path and instruction set.
inline constexpr int64_t kDotBlock = 1024;
inline constexpr int64_t kDotLanes = 16;

// A product that is wanted: `row` of the hidden states, into values[value].
struct Pair {
  int32_t row, value;
};

// Products of columns with the rows that each of them names. The pairs of columns[i] are [starts[i], starts[i + 1]).
struct PairList {
  const int32_t* columns = nullptr;
  const int32_t* starts = nullptr;  // [count + 1]
  int64_t count = 0;                // columns
  const Pair* pairs = nullptr;
  const float* const* rows = nullptr;  // hidden states
  float* values = nullptr;
};
void multiply_pairs(const Workers& workers, const OutputLayer& layer, const PairList& list);

// Products of all rows with all columns that are listed; that of row r and column c goes to out + r*out_stride + c.
struct TileList {
  const int32_t* columns = nullptr;  // nullptr: 0, 1, ...
  int64_t column_count = 0;
  const float* const* rows = nullptr;
  int64_t row_count = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};
void multiply_tiles(const Workers& workers, const OutputLayer& layer, const TileList& list);

}  // namespace sidbeam::runner
