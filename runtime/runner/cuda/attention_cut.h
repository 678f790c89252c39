// Cutting a request's shared stage into items, on the host and on the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/attention.h"
#include "support/host_device.h"

namespace sidbeam::runner::cuda {

inline constexpr int32_t kKeysOfSplit = 64;  // a split has a multiple of so many keys
inline constexpr int32_t kLeastSplit = 128;  // below which a split costs more than it gains

struct AttentionShape {
  int32_t dtype = 0, heads = 0, kv_heads = 0, head_dim = 0, depth = 0;
  int32_t processors = 1;  // of the device
};

SIDBEAM_HD inline int32_t divided_up(int64_t value, int32_t by) {
  return static_cast<int32_t>((static_cast<uint32_t>(value) + static_cast<uint32_t>(by) - 1) /
                              static_cast<uint32_t>(by));
}

// Sets length, tiles, splits and split_keys; at least `least` items where the keys are enough. Rows times heads, and
// the length, are below 2^31.
SIDBEAM_HD inline void cut_keys(const AttentionShape& shape, int32_t tile_rows, int32_t least, int64_t rows,
                                int64_t length, SharedPart& part) {
  const int64_t queries = rows * (shape.heads / shape.kv_heads);
  part.length = length;
  part.tiles = divided_up(queries, tile_rows);
  part.split_keys = 0;
  part.splits = queries > 0 ? 1 : 0;  // a whole request without keys still writes its zeros, in one item
  if (queries == 0 || length == 0) return;
  const int32_t wanted = divided_up(least, part.tiles * shape.kv_heads), most = divided_up(length, kLeastSplit);
  const int32_t splits = wanted < most ? wanted : most;
  part.split_keys = divided_up(divided_up(length, splits < 1 ? 1 : splits), kKeysOfSplit) * kKeysOfSplit;
  part.splits = divided_up(length, part.split_keys);
}

SIDBEAM_HD inline int64_t items_of(const AttentionShape& shape, const SharedPart& part) {
  return int64_t{part.tiles} * part.splits * shape.kv_heads;
}

}  // namespace sidbeam::runner::cuda
