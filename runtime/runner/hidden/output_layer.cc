// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/output_layer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "runner/hidden/dots.h"

namespace sidbeam::runner {
namespace {

// Beams and columns of the measurement; of the pairs, each beam has one in kSpread columns.
constexpr int64_t kBeams = 48, kColumns = 96, kSpread = 8;

template <class Work>
double least_seconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least;
}

}  // namespace

// The products of the layer's first columns with some of its own rows, or rows of zeros where it is not f32.
double measure_break_even(const OutputLayer& layer) {
  const int64_t columns = std::min(kColumns, layer.columns);
  const std::vector<float> zeros(static_cast<size_t>(layer.width));
  const std::vector<const float*> rows(kBeams, zeros.data());
  std::vector<float> values(static_cast<size_t>(kBeams * columns));
  std::vector<int32_t> listed, starts(1, 0);
  std::vector<Pair> pairs;
  for (int32_t column = 0; column < columns; ++column) {
    listed.push_back(column);
    for (int32_t row = 0; row < kBeams; ++row)
      if ((row * 7 + column) % kSpread == 0) pairs.push_back({row, column, static_cast<int32_t>(pairs.size())});
    starts.push_back(static_cast<int32_t>(pairs.size()));
  }
  PairList list;
  list.columns = listed.data(), list.column_count = columns, list.starts = starts.data();
  list.pairs = pairs.data(), list.rows = rows.data(), list.values = values.data();
  const TileList tiles{nullptr, columns, rows.data(), kBeams, values.data(), columns};
  const Workers workers{layer.target, nullptr};
  const double by_pair =
      least_seconds([&] { multiply_pairs(workers, layer, list); }) / static_cast<double>(pairs.size());
  const double by_tile =
      least_seconds([&] { multiply_tiles(workers, layer, tiles); }) / static_cast<double>(kBeams * columns);
  return std::clamp(by_pair / std::max(by_tile, 1e-12), 1.0, 16.0);
}

}  // namespace sidbeam::runner
