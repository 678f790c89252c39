// Attention on a CUDA device: the interface between its host side and its kernels. Rows attend to their request's
// shared KV and to ancestors in the unshared KV; the stages are merged by online softmax.
//
// The shared stage is cut into items: one KV head, one tile of query rows (the rows of a request times the query heads
// of the KV head), one range of keys. An item leaves, for each of its query rows, the maximum of the products, the sum
// of the weights relative to it, and the weighted sum of values. Merging folds a row's items with what its ancestors
// give.
//
// Blocks are numbered through the stages of a launch, so that shared and unshared stages run beside each other in the
// proportion that a table gives (attention_plan.h). Nothing depends on how many blocks there are: bits are the same for
// any split of blocks, and a request's do not depend on what else is in its batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::runner::cuda {

// A request's shared KV and how its work is cut up; an array of these is on the device, with one more at its end that
// holds the totals in first_row and first_item.
struct SharedPart {
  const void *keys = nullptr, *values = nullptr;  // [length, kv_heads, head_dim]
  const float* bias = nullptr;                    // [heads, ...] of products, before the base changes; nullptr: none
  int64_t length = 0;
  int64_t first_row = 0, first_item = 0;
  int64_t bias_head_stride = 0;
  int32_t bias_row_step = 0;  // the bias of row j and key k is at k + j * bias_row_step; -1 of relative positions
  int32_t causal = -1;        // row j sees keys 0 .. causal + j; -1: all keys
  int32_t tiles = 0, splits = 0, split_keys = 0;
};

// One call of attention on the device. All pointers are device addresses; strides are in elements.
struct AttentionView {
  int32_t dtype = 0;  // SIDBEAM_DTYPE_* of queries, keys, values and output
  int32_t heads = 0, kv_heads = 0, head_dim = 0, depth = 0;
  float scale = 0;
  const SharedPart* parts = nullptr;  // [requests + 1]
  int64_t requests = 0;
  int64_t shared_offset = 0;      // added to all keys and values of parts: the layer's
  const void* queries = nullptr;  // row r, head h at r * query_stride + h * head_dim
  int64_t query_stride = 0;
  const void *unshared_keys = nullptr, *unshared_values = nullptr;  // [unshared_slots, kv_heads, head_dim]
  int64_t unshared_slots = 0;
  const int32_t* ancestors = nullptr;    // [rows, depth]; entries out of range are none
  const float* ancestor_bias = nullptr;  // [heads, depth]
  void* output = nullptr;                // [rows, heads, head_dim]
  float* log_sum_exp = nullptr;          // [rows, heads]
  // Partial results: the sums, [partials, head_dim] and, before them, two statistics each.
  float *statistics = nullptr, *sums = nullptr;
  int64_t unshared_partials = -1;  // index of the first that the unshared stage writes; -1: it is fused with merging
};

// How many blocks each stage gets. Without unshared blocks the unshared stage is fused with merging.
struct StageBlocks {
  int64_t shared = 0, unshared = 0, merge = 0;
};

inline constexpr int64_t kMaxAttentionDim = 256;
inline constexpr int kStatistics = 2;  // maximum (of base-2 logarithms) and sum

// Query rows of an item.
int32_t attention_tile_rows(int32_t dtype);

// Writes descriptors from kernel arguments, so that no copy from the host is waited for or captured.
cudaError_t launch_describe(const SharedPart* parts, int64_t count, SharedPart* out, cudaStream_t stream);
// `merged`: whether there is anything to merge; without ancestors and with one split everywhere the shared stage
// writes the output itself.
cudaError_t launch_attention(const AttentionView& view, const StageBlocks& blocks, bool merged, cudaStream_t stream);
// Launches every kernel once with nothing to do, before anything is captured; `memory` holds one SharedPart of zeros.
cudaError_t warm_attention(const SharedPart* memory, cudaStream_t stream);

}  // namespace sidbeam::runner::cuda
