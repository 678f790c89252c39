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

// A product that is wanted: `row` of the hidden states with columns[column] of the list, into values[value]. In chunks
// of one column `column` is not set.
struct Pair {
  int32_t row, column, value;
};

// Products of any rows and columns. Columns are taken in chunks of 2^chunk_shift. A chunk of one column is multiplied
// where its weights are. Those of a larger chunk are copied to where they stay in the second-level cache while the rows
// pass, in rising order. So a weight is read once from where the host has it, and a hidden state once per chunk.
struct PairList {
  const int32_t* columns = nullptr;  // [column_count], rising
  int64_t column_count = 0;
  int32_t chunk_shift = 0;
  const int32_t* starts = nullptr;     // [chunks + 1] of their pairs
  const Pair* pairs = nullptr;         // of a chunk, by row
  const float* const* rows = nullptr;  // hidden states
  float* values = nullptr;
  float* packed = nullptr;  // [threads, kChunkWeights] of chunks of several columns

  int64_t chunks() const { return (column_count + (int64_t{1} << chunk_shift) - 1) >> chunk_shift; }
  int64_t count() const { return starts[chunks()]; }
};
// Most weights of a chunk, a mebibyte: half of a second-level cache of two, beside which the rows that pass leave them
// there. (Half of it was as fast or slower there; where the cache has one, the whole of it took up to twice as long.)
inline constexpr int64_t kChunkWeights = 1 << 18;
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
