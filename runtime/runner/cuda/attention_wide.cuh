// The shared stage in f32, without tensor cores: a lane has a key, a warp four query rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/attention_rows.cuh"
#include "runner/cuda/attention_tile.cuh"

namespace sidbeam::runner::cuda {

template <int kDim>
struct alignas(16) WideTiles {
  using Shape = Tile<float, kDim>;
  float queries[Shape::kRows * Shape::kStride];
  float keys[Shape::kKeys * Shape::kStride], values[Shape::kKeys * Shape::kStride];
  float weights[kWarps][kWarp];
};

// Adds a block of keys to a query row's results.
template <int kDim>
__device__ __forceinline__ void attend_block(const AttentionView& view, const Item& item, int t, int64_t first_key,
                                             WideTiles<kDim>& tiles, RowResult<kDim>& row) {
  constexpr int kStride = Tile<float, kDim>::kStride;
  const int lane = lane_id();
  const int64_t key = first_key + lane;
  const float* query = tiles.queries + t * kStride;
  float product = 0.0F;
#pragma unroll 4
  for (int d = 0; d < kDim; d += 4) {
    const auto q = *reinterpret_cast<const float4*>(query + d);
    const auto k = *reinterpret_cast<const float4*>(tiles.keys + lane * kStride + d);
    product = fmaf(q.x, k.x, product);
    product = fmaf(q.y, k.y, product);
    product = fmaf(q.z, k.z, product);
    product = fmaf(q.w, k.w, product);
  }
  const float* bias = bias_of(item, t);
  const bool seen = key < key_limit(item, t);
  product = !seen ? -infinity() : product * (view.scale * kLog2E) + (bias == nullptr ? 0.0F : bias[key] * kLog2E);
  const float largest = fmaxf(row.maximum, warp_largest(product)), base = largest == -infinity() ? 0.0F : largest;
  const float weight = exp2f(product - base);
  row.rescale(largest, exp2f(row.maximum - base));
  row.weight += warp_sum(weight);
  tiles.weights[warp_id()][lane] = weight;
  __syncwarp();
  for (int k = 0; k < kWarp; ++k) {
    const float of_key = tiles.weights[warp_id()][k];
#pragma unroll
    for (int i = 0; i < RowResult<kDim>::kOfLane; ++i)
      row.sums[i] = fmaf(of_key, tiles.values[k * kStride + RowResult<kDim>::column(i)], row.sums[i]);
  }
  __syncwarp();
}

template <int kDim>
__device__ inline void attend_wide(const AttentionView& view, const Item& item, WideTiles<kDim>& tiles) {
  using Shape = Tile<float, kDim>;
  constexpr int kOfWarp = Shape::kRows / kWarps;
  const int64_t stride = int64_t{view.kv_heads} * view.head_dim;
  const int64_t from = view.shared_offset + item.first_key * stride + int64_t{item.kv_head} * view.head_dim;
  const float* keys = static_cast<const float*>(item.part->keys) + from;
  const float* values = static_cast<const float*>(item.part->values) + from;
  const bool whole = view.head_dim % Shape::kVector == 0;
  const bool vectors = whole && aligned(keys) && aligned(values);
  const int64_t count = item.last_key - item.first_key;
  AsyncCopies copies;
  load_queries<float, kDim>(
      view, item, tiles.queries,
      whole && aligned(static_cast<const float*>(view.queries)) && view.query_stride % Shape::kVector == 0, copies);
  RowResult<kDim> rows[kOfWarp];
#pragma unroll
  for (auto& row : rows) row.clear();
  for (int64_t key = 0; key < count; key += Shape::kKeys) {
    load_rows<float, kDim, Shape::kKeys>(tiles.keys, count - key, view.head_dim, vectors,
                                         KvRow<float>{keys + key * stride, stride}, copies);
    load_rows<float, kDim, Shape::kKeys>(tiles.values, count - key, view.head_dim, vectors,
                                         KvRow<float>{values + key * stride, stride}, copies);
    copies.commit();
    copies.template wait<0>();
    __syncthreads();
    clear_masked<float, kDim>(item, item.first_key + key, tiles.keys, tiles.values);
#pragma unroll
    for (int i = 0; i < kOfWarp; ++i) {
      const int t = warp_id() * kOfWarp + i;
      if (item.has(t)) attend_block<kDim>(view, item, t, item.first_key + key, tiles, rows[i]);
    }
    __syncthreads();
  }
  copies.commit();
  copies.template wait<0>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kOfWarp; ++i) {
    const int t = warp_id() * kOfWarp + i;
    if (!item.has(t)) continue;
    const int64_t row = item.part->first_row + item.row(t);
    if (is_whole(view, *item.part)) {
      write_row<float, kDim>(view, row, item.head(t), rows[i]);
    } else {
      leave_partial<kDim>(view, item.number * Shape::kRows + t, rows[i]);
    }
  }
}

}  // namespace sidbeam::runner::cuda
