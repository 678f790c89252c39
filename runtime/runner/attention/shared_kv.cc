// SPDX-License-Identifier: Apache-2.0
#include "runner/attention/shared_kv.h"

#include "runner/attention/kernels.h"
#include "sidbeam/base.h"

namespace sidbeam::runner {

KvRows KvRows::at(int64_t row, int64_t head, int32_t head_dim) const {
  if (keys == nullptr) return *this;  // of no rows
  const int64_t bytes = (row * stride + head * head_dim) * (dtype == SIDBEAM_DTYPE_F32 ? 4 : 2);
  return {static_cast<const char*>(keys) + bytes, static_cast<const char*>(values) + bytes, stride, dtype};
}

SharedKv::SharedKv(const Allocator& allocator, const HeadShape& heads, int64_t positions)
    : shape(heads), capacity((positions + HeadShape::kPanel - 1) / HeadShape::kPanel * HeadShape::kPanel) {
  const int64_t rows = checked_bytes(capacity, shape.kv_heads);
  keys = Buffer<float>::zeroed(allocator, checked_bytes(rows, shape.head_dim));
  values = Buffer<float>::zeroed(allocator, checked_bytes(rows, shape.dims()));
}

void write_rows(SharedKv& kv, CpuTarget target, int64_t first, int64_t count, const KvRows& rows) {
  const AttentionKernels& kernels = attention_kernels_of(target);
  for (int32_t head = 0; head < kv.shape.kv_heads; ++head) {
    kernels.pack(kv.head(head), kv.shape.head_dim, first, count, rows.at(0, head, kv.shape.head_dim));
  }
  kv.length = first + count;
}

}  // namespace sidbeam::runner
