// T5's bias by distance between a query and a key.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/memory.h"

namespace sidbeam::runner {

// The row of the bias table for key position - query position, as transformers computes it: distances beyond half of
// the buckets share them on a logarithmic scale, whose quotients are those of f32 numbers. (torch's logarithm is not
// always rounded to nearest, and differs with how torch was built; on that hang a handful of unusual settings, at one
// distance each. 32 buckets up to 128, the default, do not.)
int32_t relative_bucket(int64_t key_minus_query, bool bidirectional, int32_t buckets, int32_t max_distance);

// Every head's bias at every distance from -(positions-1) to positions-1, of a decoder to 0.
class RelativeBias {
 public:
  RelativeBias() = default;
  // `table` is [buckets, heads].
  RelativeBias(const Allocator& allocator, const float* table, int32_t heads, int32_t buckets, int32_t max_distance,
               bool bidirectional, int64_t positions);
  // Of head h: at_zero()[h * stride() + key - query].
  const float* at_zero() const { return values_.data() + positions_ - 1; }
  int64_t stride() const { return stride_; }
  int64_t memory_bytes() const { return values_.bytes(); }

 private:
  int64_t positions_ = 0, stride_ = 0;
  Buffer<float> values_;  // [heads, stride]
};

}  // namespace sidbeam::runner
