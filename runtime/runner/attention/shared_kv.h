// Keys and values that all rows of a request share, stored once, in the order in which the kernels read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/cpu_target.h"
#include "support/memory.h"

namespace sidbeam::runner {

// Heads of queries, and of keys and values. Query head h reads KV head h / (heads / kv_heads).
struct HeadShape {
  static constexpr int64_t kPanel = 16;  // keys, or dimensions, beside each other

  int32_t heads = 0, kv_heads = 0, head_dim = 0;

  int32_t group() const { return heads / kv_heads; }
  // head_dim, rounded up to panels.
  int64_t dims() const { return (head_dim + kPanel - 1) / kPanel * kPanel; }
};

// Rows of one layer, [n, kv_heads, head_dim] each, `stride` elements from one to the next.
struct KvRows {
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t stride = 0;
  int32_t dtype = 0;  // SIDBEAM_DTYPE_*

  // The rows from `row` on, beginning with `head`.
  KvRows at(int64_t row, int64_t head, int32_t head_dim) const;
};

// Where one head's keys and values are packed: keys as [positions / 16, head_dim, 16], so that a vector holds keys,
// values as [dims / 16, value_stride, 16], so that it holds dimensions.
struct PackedHead {
  float* keys;
  float* values;
  int64_t value_stride;  // positions between two panels of values
};

// One layer's keys and values of up to `capacity` positions. What no row has written is zero.
struct SharedKv {
  SharedKv() = default;
  SharedKv(const Allocator& allocator, const HeadShape& heads, int64_t positions);

  PackedHead head(int32_t kv_head) {
    return {keys.data() + kv_head * capacity * shape.head_dim, values.data() + kv_head * capacity * shape.dims(),
            capacity};
  }
  const float* head_keys(int32_t kv_head) const { return keys.data() + kv_head * capacity * shape.head_dim; }
  const float* head_values(int32_t kv_head) const { return values.data() + kv_head * capacity * shape.dims(); }
  int64_t memory_bytes() const { return keys.bytes() + values.bytes(); }

  HeadShape shape;
  int64_t capacity = 0;  // a multiple of HeadShape::kPanel
  int64_t length = 0;    // positions that rows attend to
  Buffer<float> keys, values;
};

// Writes rows [0, count) as positions [first, first + count); then the length is first + count.
void write_rows(SharedKv& kv, CpuTarget target, int64_t first, int64_t count, const KvRows& rows);

}  // namespace sidbeam::runner
