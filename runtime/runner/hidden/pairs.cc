// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/pairs.h"

#include <algorithm>

namespace sidbeam::runner {

PairSorter::PairSorter(const Allocator& allocator, int64_t columns, int64_t most_pairs)
    : starts_(allocator, columns),
      distinct_(allocator, std::min(columns, most_pairs)),
      begins_(allocator, std::min(columns, most_pairs) + 1),
      pairs_(allocator, most_pairs) {}

void PairSorter::begin() { std::fill(starts_.begin(), starts_.end(), 0); }

void PairSorter::count(const int32_t* columns, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ++starts_[columns[i]];
}

void PairSorter::place() {
  int32_t at = 0;
  distinct_count_ = 0;
  for (int64_t column = 0; column < starts_.size(); ++column) {
    const int32_t n = starts_[column];
    if (n == 0) continue;
    distinct_[distinct_count_] = static_cast<int32_t>(column);
    begins_[distinct_count_++] = at;
    starts_[column] = at;
    at += n;
  }
  begins_[distinct_count_] = at;
}

void PairSorter::add(int32_t row, const int32_t* columns, int64_t count, int64_t first_value) {
  for (int64_t i = 0; i < count; ++i) pairs_[starts_[columns[i]]++] = {row, static_cast<int32_t>(first_value + i)};
}

PairList PairSorter::list() const {
  PairList list;
  list.columns = distinct_.data();
  list.starts = begins_.data();
  list.count = distinct_count_;
  list.pairs = pairs_.data();
  return list;
}

}  // namespace sidbeam::runner
