// The shared stage on tensor cores: all query rows of a tile times a block of keys, online softmax in registers, times
// the values; after FlashAttention-2. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/attention_tile.cuh"

namespace sidbeam::runner::cuda {

template <class T, int kDim>
struct alignas(16) SharedTiles {
  using Shape = Tile<T, kDim>;
  T queries[Shape::kRows * Shape::kStride];
  T keys[Shape::kStages][Shape::kKeys * Shape::kStride];
  T values[Shape::kStages][Shape::kKeys * Shape::kStride];
};

// A warp's 16 query rows: of lane l, rows l / 4 and l / 4 + 8.
template <int kDim>
struct WarpRows {
  float sums[kDim / 8][4];
  float maximum[2], weight[2];
};

// The maximum over the four lanes that share a row.
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// Products of the warp's queries with a block of keys.
template <class T, int kDim>
__device__ __forceinline__ void multiply_keys(const T* queries, const T* keys,
                                              float (&products)[Tile<T, kDim>::kKeys / 8][4]) {
  using Shape = Tile<T, kDim>;
  const int lane = lane_id(), matrix = lane / 8, row = lane % 8;
#pragma unroll
  for (auto& product : products)
#pragma unroll
    for (float& one : product) one = 0.0F;
  [[maybe_unused]] constexpr int kAtOnce = kDim > 128 ? 1 : 4;  // wide heads have few registers left
#pragma unroll kAtOnce
  for (int d = 0; d < kDim; d += 16) {
    uint32_t a[4];
    load_matrices(a, queries + (matrix % 2 * 8 + row) * Shape::kStride + d + matrix / 2 * 8);
#pragma unroll
    for (int key = 0; key < Shape::kKeys; key += 16) {
      uint32_t b[4];
      load_matrices(b, keys + (key + matrix / 2 * 8 + row) * Shape::kStride + d + matrix % 2 * 8);
      multiply<T>(products[key / 8], a, b[0], b[1]);
      multiply<T>(products[key / 8 + 1], a, b[2], b[3]);
    }
  }
}

// Scales and biases products, and takes out the keys that a row does not see. In base 2.
struct Finish {
  float scale;
  int32_t limit[2];
  const float* bias[2];  // of the item's first key

  __device__ float operator()(float product, int half, int32_t key) const {
    if (key >= limit[half]) return -infinity();
    const float scaled = product * scale;
    return bias[half] == nullptr ? scaled : fmaf(bias[half][key], kLog2E, scaled);
  }
};

// Makes weights of products, and rescales what was summed before.
template <int kDim, int kTiles>
__device__ __forceinline__ void make_weights(float (&products)[kTiles][4], const Finish& finish, int32_t first_key,
                                             WarpRows<kDim>& rows) {
  const int column = lane_id() % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.maximum[half];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& product = products[tile][half * 2 + i];
        product = finish(product, half, first_key + tile * 8 + column + i);
        largest = fmaxf(largest, product);
      }
    largest = quad_max(largest);
    const float base = largest == -infinity() ? 0.0F : largest;
    const float keep = exp2f(rows.maximum[half] - base);
    float weight = 0.0F;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& product = products[tile][half * 2 + i];
        product = exp2f(product - base);
        weight += product;
      }
    rows.maximum[half] = largest;
    rows.weight[half] = fmaf(rows.weight[half], keep, weight);
#pragma unroll
    for (auto& sum : rows.sums) {
      sum[half * 2] *= keep;
      sum[half * 2 + 1] *= keep;
    }
  }
}

// Adds weights times values.
template <class T, int kDim>
__device__ __forceinline__ void multiply_values(const float (&weights)[Tile<T, kDim>::kKeys / 8][4], const T* values,
                                                WarpRows<kDim>& rows) {
  using Shape = Tile<T, kDim>;
  const int lane = lane_id(), matrix = lane / 8, row = lane % 8;
#pragma unroll
  for (int key = 0; key < Shape::kKeys; key += 16) {
    const float(&low)[4] = weights[key / 8];
    const float(&high)[4] = weights[key / 8 + 1];
    const uint32_t a[4] = {pack_pair<T>(low[0], low[1]), pack_pair<T>(low[2], low[3]), pack_pair<T>(high[0], high[1]),
                           pack_pair<T>(high[2], high[3])};
#pragma unroll
    for (int d = 0; d < kDim; d += 16) {
      uint32_t b[4];
      load_matrices_transposed(b, values + (key + matrix % 2 * 8 + row) * Shape::kStride + d + matrix / 2 * 8);
      multiply<T>(rows.sums[d / 8], a, b[0], b[1]);
      multiply<T>(rows.sums[d / 8 + 1], a, b[2], b[3]);
    }
  }
}

// Leaves a warp's rows: as partial results, or, where they are whole, as the output.
template <class T, int kDim>
__device__ inline void leave_rows(const AttentionView& view, const Item& item, const WarpRows<kDim>& rows) {
  const int lane = lane_id(), column = lane % 4 * 2;
  const bool whole = is_whole(view, *item.part);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = warp_id() * 16 + half * 8 + lane / 4;
    const float weight = quad_sum(rows.weight[half]);
    if (!item.has(t)) continue;
    const int64_t place = whole ? (item.part->first_row + item.row(t)) * view.heads + item.head(t)
                                : item.number * Tile<T, kDim>::kRows + t;
    const float by = whole ? (weight > 0.0F || weight != weight ? 1.0F / weight : 0.0F) : 1.0F;
    if (lane % 4 == 0) {
      if (!whole) {
        view.statistics[place * kStatistics] = rows.maximum[half];
        view.statistics[place * kStatistics + 1] = weight;
      } else if (view.log_sum_exp != nullptr) {
        view.log_sum_exp[place] = (rows.maximum[half] + log2f(weight)) * kLn2;
      }
    }
    // Columns lie at constant distances from the first, so that the addresses take no registers.
    const int64_t first = place * view.head_dim + column;
    T* output = static_cast<T*>(view.output) + first;
    float* sums = view.sums + first;
    const int32_t left = view.head_dim - column;
#pragma unroll
    for (int d = 0; d < kDim; d += 8)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (d + i >= left) continue;
        if (whole) {
          output[d + i] = narrowed<T>(rows.sums[d / 8][half * 2 + i] * by);
        } else {
          sums[d + i] = rows.sums[d / 8][half * 2 + i];
        }
      }
  }
}

template <class T, int kDim>
__device__ inline void attend_shared(const AttentionView& view, const Item& item, SharedTiles<T, kDim>& tiles) {
  using Shape = Tile<T, kDim>;
  const int64_t stride = int64_t{view.kv_heads} * view.head_dim;
  const int64_t from = view.shared_offset + item.first_key * stride + int64_t{item.kv_head} * view.head_dim;
  const T* keys = static_cast<const T*>(item.part->keys) + from;
  const T* values = static_cast<const T*>(item.part->values) + from;
  const bool whole = view.head_dim % Shape::kVector == 0;
  const bool vectors = whole && aligned(keys) && aligned(values);
  const auto count = static_cast<int32_t>(item.last_key - item.first_key);  // at most split_keys; below 1: none
  AsyncCopies copies;
  const auto load = [&](int32_t key) {
    const int stage = key / Shape::kKeys % 2;
    load_rows<T, kDim, Shape::kKeys>(tiles.keys[stage], count - key, view.head_dim, vectors,
                                     KvRow<T>{keys + key * stride, stride}, copies);
    load_rows<T, kDim, Shape::kKeys>(tiles.values[stage], count - key, view.head_dim, vectors,
                                     KvRow<T>{values + key * stride, stride}, copies);
  };
  load_queries<T, kDim>(
      view, item, tiles.queries,
      whole && aligned(static_cast<const T*>(view.queries)) && view.query_stride % Shape::kVector == 0, copies);
  if (count > 0) load(0);
  copies.commit();

  const int first = warp_id() * 16;
  const bool needed = item.has(first);  // the warp has a row of its own
  Finish finish{view.scale * kLog2E, {0, 0}, {nullptr, nullptr}};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = first + half * 8 + lane_id() / 4;
    finish.limit[half] = static_cast<int32_t>(key_limit(item, t) - item.first_key);
    finish.bias[half] = bias_of(item, t);
    if (finish.bias[half] != nullptr) finish.bias[half] += item.first_key;
  }
  WarpRows<kDim> rows;
#pragma unroll
  for (auto& sum : rows.sums)
#pragma unroll
    for (float& one : sum) one = 0.0F;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows.maximum[half] = -infinity();
    rows.weight[half] = 0.0F;
  }
  for (int32_t key = 0; key < count; key += Shape::kKeys) {
    if (key + Shape::kKeys < count) load(key + Shape::kKeys);
    copies.commit();
    copies.template wait<1>();
    __syncthreads();
    const int stage = key / Shape::kKeys % 2;
    clear_masked<T, kDim>(item, item.first_key + key, tiles.keys[stage], tiles.values[stage]);
    if (needed) {
      float products[Shape::kKeys / 8][4];
      multiply_keys<T, kDim>(tiles.queries + first * Shape::kStride, tiles.keys[stage], products);
      make_weights<kDim>(products, finish, key, rows);
      multiply_values<T, kDim>(products, tiles.values[stage], rows);
    }
    __syncthreads();  // the next load overwrites this stage
  }
  copies.template wait<0>();
  __syncthreads();
  leave_rows<T, kDim>(view, item, rows);
}

}  // namespace sidbeam::runner::cuda
