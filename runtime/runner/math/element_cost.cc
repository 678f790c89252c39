// SPDX-License-Identifier: Apache-2.0
#include "runner/math/element_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runner/math/elements.h"
#include "runner/math/least_time.h"
#include "runner/math/product.h"

namespace sidbeam::runner {

// Of rows of ones with the first columns: all elements, and one of every eight by itself.
int32_t measure_element_cost(CpuTarget target, const Tensor& weights, std::span<const int32_t> tokens, int64_t rows) {
  constexpr int64_t kMostRows = 16, kMostColumns = 64, kSpread = 8;
  constexpr double kLeast = 2.0, kMost = 64.0;
  const int64_t count = std::clamp<int64_t>(rows, 1, kMostRows);
  const auto columns = static_cast<int64_t>(std::min<size_t>(tokens.size(), kMostColumns));
  const Matrix packed =
      pack_matrix(default_allocator(), weights, weights.dtype, tokens.first(static_cast<size_t>(columns)));
  const std::vector<float> x(static_cast<size_t>(count * weights.inputs), 1.0F);
  std::vector<float> y(static_cast<size_t>(count * columns));
  std::vector<int32_t> of_rows, of_columns;
  for (int32_t row = 0; row < count; ++row)
    for (int32_t column = 0; column < columns; ++column)
      if ((row + column) % kSpread == 0) of_rows.push_back(row), of_columns.push_back(column);
  const Workers workers{target, nullptr};
  const ConstRows inputs(x.data(), count, weights.inputs);
  const Rows outputs(y.data(), count, columns);
  const auto elements = static_cast<int64_t>(of_rows.size());
  const double by_element = least_seconds([&] {
    multiply_elements(workers, {inputs, weights, tokens.data(), outputs, of_rows.data(), of_columns.data(), elements});
  });
  const double by_product = least_seconds([&] { multiply(workers, inputs, packed, outputs); });
  const double cost =
      by_element / static_cast<double>(elements) / std::max(by_product, 1e-12) * static_cast<double>(count * columns);
  return static_cast<int32_t>(std::lround(std::clamp(cost, kLeast, kMost)));
}

}  // namespace sidbeam::runner
