// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/output_layer.h"

#include <algorithm>
#include <vector>

#include "runner/hidden/pairs.h"
#include "runner/math/least_time.h"

namespace sidbeam::runner {
namespace {

// Hidden states and columns of the measurement. Of kPeriod columns a beam has kTaken, about as many as where both ways
// take equally long. States of up to half a mebibyte do not fit a first-level cache, as those of a step do not.
constexpr int64_t kRows = 128, kColumns = 48, kPeriod = 8, kTaken = 3;

// A tile of few rows waits for its weights, which products by themselves read once for all slots. From memory a row
// comes in the time of about nine products in a tile (20 GB/s, 45e9 multiply-adds a second), from a cache in that of
// two. (With neither, steps of eight slots at their roots took up to eight times as long.)
double row_cost_of(const OutputLayer& layer) {
  // What a core has of the last-level cache. (What sysconf() says of that is of all cores, here ten times its own.)
  constexpr int64_t kLastLevel = int64_t{1} << 24;
  constexpr double kNear = 2.0, kFar = 9.0;
  return layer.columns * layer.width * dtype_bytes(layer.dtype) < kLastLevel ? kNear : kFar;
}

// By the layer's first columns, of which at most a block of inputs is read.
double measure_break_even(const OutputLayer& layer) {
  OutputLayer part = layer;
  part.columns = std::min(kColumns, layer.columns), part.width = std::min(kDotBlock, layer.width);
  // Ones: memory that nothing was written to would be one page, read again and again.
  const std::vector<float> states(static_cast<size_t>(kRows * part.width), 1.0F);
  std::vector<const float*> rows;
  std::vector<std::vector<int32_t>> children(kRows);
  int64_t count = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    rows.push_back(states.data() + row * part.width);
    for (int32_t column = 0; column < part.columns; ++column)
      if ((row * 3 + column) % kPeriod < kTaken) children[static_cast<size_t>(row)].push_back(column);
    count += static_cast<int64_t>(children[static_cast<size_t>(row)].size());
  }
  std::vector<float> values(static_cast<size_t>(kRows * part.columns));
  const Workers workers{layer.target, nullptr};
  PairSorter sorter(default_allocator(), {part.columns, kRows, count, part.width});
  const double by_pair = least_seconds([&] {
    sorter.begin();
    for (const auto& listed : children) sorter.count(listed.data(), static_cast<int64_t>(listed.size()));
    sorter.place(kRows);
    int32_t row = 0;
    int64_t value = 0;
    for (const auto& listed : children) {
      sorter.add(row++, listed.data(), static_cast<int64_t>(listed.size()), value);
      value += static_cast<int64_t>(listed.size());
    }
    PairList list = sorter.list();
    list.rows = rows.data(), list.values = values.data();
    multiply_pairs(workers, part, list);
  });
  const TileList tiles{nullptr, part.columns, rows.data(), kRows, values.data(), part.columns};
  const double by_tile = least_seconds([&] { multiply_tiles(workers, part, tiles); });
  const double pairs = static_cast<double>(count), cells = static_cast<double>(kRows * part.columns);
  return std::clamp(by_pair / pairs / std::max(by_tile / cells, 1e-12), 1.0, 16.0);
}

}  // namespace

void find_costs(OutputLayer& layer) {
  layer.break_even = measure_break_even(layer);
  layer.row_cost = row_cost_of(layer);
}

}  // namespace sidbeam::runner
