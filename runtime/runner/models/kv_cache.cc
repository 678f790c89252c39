// SPDX-License-Identifier: Apache-2.0
#include "runner/models/kv_cache.h"

namespace sidbeam::runner {

KvCache::KvCache(const Allocator& allocator, const HeadShape& shape, int32_t layers, int32_t requests,
                 int64_t positions, int64_t slots)
    : requests_(requests), slots_(slots), width_(int64_t{shape.kv_heads} * shape.head_dim) {
  const int64_t count = int64_t{layers} * requests;
  shared_.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) shared_.emplace_back(allocator, shape, positions);
  unshared_ = Buffer<float>::zeroed(allocator, checked_bytes(checked_bytes(count, slots), 2 * width_));
}

int64_t KvCache::memory_bytes() const {
  int64_t bytes = unshared_.bytes();
  for (const SharedKv& kv : shared_) bytes += kv.memory_bytes();
  return bytes;
}

}  // namespace sidbeam::runner
