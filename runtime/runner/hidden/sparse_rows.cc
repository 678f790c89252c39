// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/sparse_rows.h"

#include <algorithm>

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostPacked = 16;  // elements of a row that is packed; with more, a place is seldom found
constexpr int64_t kTries = 8;

bool get(const Buffer<uint64_t>& bits, int64_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void set(Buffer<uint64_t>& bits, int64_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

// Packed rows begin up to `columns` before the first of their elements, and end as far after it.
SparseRows::SparseRows(const Allocator& allocator, int64_t rows, int64_t columns)
    : columns_(columns), lead_(round_up(columns, 64)), packed_(lead_ + round_up(4 * kMostPacked * rows + 1024, 64)) {
  const int64_t row = round_up(columns, kStep) + kStep;
  const int64_t elements = 2 * lead_ + packed_ + checked_bytes(rows, row);
  elements_ = Buffer<float>(allocator, elements);
  taken_ = Buffer<uint64_t>(allocator, packed_ / 64);
  begun_ = Buffer<uint64_t>(allocator, (lead_ + packed_) / kStep / 64 + 1);
  limit_ = (elements - columns) / kStep + 1;
}

void SparseRows::begin() {
  std::fill(taken_.begin(), taken_.end(), 0);
  std::fill(next_, next_ + kStep, 0);
  std::fill(begun_.begin(), begun_.end(), 0);
  last_ = end_ = (lead_ + packed_) / kStep;
}

// `start` is where the row begins, counted from lead_.
bool SparseRows::fits(const int32_t* columns, int64_t count, int64_t start) const {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = start + columns[i];
    if (at < 0 || at >= packed_ || get(taken_, at)) return false;
  }
  return true;
}

// The number of a packed row, or -1.
int64_t SparseRows::pack(const int32_t* columns, int64_t count) {
  const int64_t remainder = columns[0] % kStep;
  int64_t& next = next_[remainder];
  while (next * kStep < packed_ && get(taken_, next * kStep + remainder)) ++next;
  for (int64_t step = next; step < next + kTries; ++step) {
    const int64_t start = step * kStep + remainder - columns[0], row = (lead_ + start) / kStep;
    if (get(begun_, row) || !fits(columns, count, start)) continue;
    set(begun_, row);
    for (int64_t i = 0; i < count; ++i) set(taken_, start + columns[i]);
    return row;
  }
  return -1;
}

// The number of a row that begins where no other has elements.
int64_t SparseRows::follow(const int32_t* columns, int64_t count) {
  const auto [least, most] = std::minmax_element(columns, columns + count);
  last_ = std::max(end_ - *least / kStep, last_ + 1);
  end_ = last_ + *most / kStep + 1;
  return last_;
}

int32_t SparseRows::add(const int32_t* columns, const float* values, int64_t count) {
  if (count == 0) return 0;
  int64_t row = count <= kMostPacked ? pack(columns, count) : -1;
  if (row < 0) row = follow(columns, count);
  float* const elements = elements_.data() + row * kStep;
  for (int64_t i = 0; i < count; ++i) elements[columns[i]] = values[i];
  return static_cast<int32_t>(row);
}

sidbeam_rows SparseRows::rows() const {
  sidbeam_rows rows = sidbeam_rows_dense(elements_.data(), SIDBEAM_DTYPE_F32, 0, limit_, columns_);
  rows.row_stride = kStep;
  return rows;
}

}  // namespace sidbeam::runner
