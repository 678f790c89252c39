// Durations counted by size, for percentiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace sidbeam::runner {

// Sixteen buckets per power of two: a percentile is wrong by at most one part in 32. Never allocates.
class Histogram {
 public:
  void add(int64_t value) {
    ++counts_[bucket(value < 0 ? 0 : static_cast<uint64_t>(value))];
    ++total_;
  }

  // The middle of the bucket of the value that a share of `numerator` / `denominator` of all does not exceed; 0 if
  // there is none.
  int64_t percentile(int64_t numerator, int64_t denominator) const {
    int64_t left = (total_ * numerator + denominator - 1) / denominator;
    if (total_ == 0) return 0;
    for (int32_t i = 0; i < kBuckets; ++i) {
      left -= counts_[i];
      if (left <= 0) return middle(i);
    }
    return 0;
  }

 private:
  static constexpr int32_t kBits = 4, kBuckets = (64 - kBits) << kBits;

  // Values below 32 have one each.
  static int32_t bucket(uint64_t value) {
    const int32_t shift = value < (2U << kBits) ? 0 : 63 - kBits - std::countl_zero(value);
    return (shift << kBits) + static_cast<int32_t>(value >> shift);
  }
  static int64_t middle(int32_t bucket) {
    if (bucket < (2 << kBits)) return bucket;
    const int32_t shift = (bucket >> kBits) - 1;
    const int64_t first = static_cast<int64_t>(bucket - (shift << kBits)) << shift;
    return first + ((int64_t{1} << shift) >> 1);
  }

  int64_t counts_[kBuckets] = {};
  int64_t total_ = 0;
};

}  // namespace sidbeam::runner
