// SPDX-License-Identifier: Apache-2.0
#include "runner/models/relative_bias.h"

#include <algorithm>

#include "support/portable_math.h"

namespace sidbeam::runner {

int32_t relative_bucket(int64_t key_minus_query, bool bidirectional, int32_t buckets, int32_t max_distance) {
  int32_t first = 0;
  int64_t distance = std::max<int64_t>(0, -key_minus_query);
  if (bidirectional) {
    buckets /= 2;
    first = key_minus_query > 0 ? buckets : 0;
    distance = key_minus_query > 0 ? key_minus_query : -key_minus_query;
  }
  const int32_t exact = buckets / 2;
  if (distance < exact) return first + static_cast<int32_t>(distance);
  const auto log_of = [](double x) { return static_cast<float>(portable_log(x)); };
  const float ratio = static_cast<float>(distance) / static_cast<float>(exact);
  const float most = log_of(static_cast<double>(max_distance) / exact);
  const float step = log_of(static_cast<double>(ratio)) / most * static_cast<float>(buckets - exact);
  // The last bucket for what exceeds int32, too.
  const float last = static_cast<float>(buckets - 1 - exact);
  return first + exact + static_cast<int32_t>(step < last ? step : last);
}

RelativeBias::RelativeBias(const Allocator& allocator, const float* table, int32_t heads, int32_t buckets,
                           int32_t max_distance, bool bidirectional, int64_t positions)
    : positions_(positions),
      stride_(bidirectional ? 2 * positions - 1 : positions),
      values_(allocator, checked_bytes(heads, stride_)) {
  for (int64_t i = 0; i < stride_; ++i) {
    const int32_t bucket = relative_bucket(i - (positions - 1), bidirectional, buckets, max_distance);
    for (int32_t head = 0; head < heads; ++head) values_[head * stride_ + i] = table[int64_t{bucket} * heads + head];
  }
}

}  // namespace sidbeam::runner
