// Rows of f32 in somebody else's memory. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace sidbeam::runner {

template <class T>
struct RowsOf {
  T* data = nullptr;
  int64_t count = 0;    // rows
  int64_t columns = 0;  // per row
  int64_t stride = 0;   // elements from one row to the next

  RowsOf() = default;
  RowsOf(T* data_, int64_t count_, int64_t columns_) : RowsOf(data_, count_, columns_, columns_) {}
  RowsOf(T* data_, int64_t count_, int64_t columns_, int64_t stride_)
      : data(data_), count(count_), columns(columns_), stride(stride_) {}
  // NOLINTNEXTLINE(google-explicit-constructor): rows that may be written may be read.
  operator RowsOf<const T>() const requires(!std::is_const_v<T>) { return {data, count, columns, stride}; }

  T* operator[](int64_t row) const { return data + row * stride; }
  // The rows [from, to).
  RowsOf rows(int64_t from, int64_t to) const { return {data + from * stride, to - from, columns, stride}; }
  // The columns [from, from + n) of every row.
  RowsOf slice(int64_t from, int64_t n) const { return {data + from, count, n, stride}; }
};

using Rows = RowsOf<float>;
using ConstRows = RowsOf<const float>;

}  // namespace sidbeam::runner
