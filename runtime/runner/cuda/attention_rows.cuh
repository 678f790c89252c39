// The unshared stage and merging: a warp has a query row. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/attention_tile.cuh"

namespace sidbeam::runner::cuda {

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
__device__ inline float warp_largest(float value) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// What a row has attended to so far; every lane has some columns of the sums, neighbours in pairs.
template <int kDim>
struct RowResult {
  static constexpr int kOfLane = kDim / kWarp;
  float sums[kOfLane];
  float maximum, weight;

  __device__ static int column(int i) { return (i / 2 * kWarp + lane_id()) * 2 + i % 2; }
  __device__ void clear() {
#pragma unroll
    for (float& sum : sums) sum = 0.0F;
    maximum = -infinity();
    weight = 0.0F;
  }
  __device__ void rescale(float largest, float keep) {
#pragma unroll
    for (float& sum : sums) sum *= keep;
    weight *= keep;
    maximum = largest;
  }
};

// A row of head_dim elements, by lanes as RowResult has its sums; zeros beyond.
template <class T, int kDim>
__device__ __forceinline__ void load_row(const T* row, int32_t head_dim, float (&out)[kDim / kWarp]) {
  // 16-bit pairs are one load where they are aligned.
  const bool pairs = sizeof(T) == 2 && reinterpret_cast<uintptr_t>(row) % 4 == 0;
#pragma unroll
  for (int i = 0; i < kDim / kWarp; i += 2) {
    const int at = RowResult<kDim>::column(i);
    if (pairs && at + 1 < head_dim) {
      if constexpr (sizeof(T) == 2) {
        const auto both = *reinterpret_cast<const uint32_t*>(row + at);
        out[i] = float_of(T{static_cast<uint16_t>(both & 0xFFFFU)});
        out[i + 1] = float_of(T{static_cast<uint16_t>(both >> 16)});
      }
    } else {
      out[i] = at < head_dim ? float_of(row[at]) : 0.0F;
      out[i + 1] = at + 1 < head_dim ? float_of(row[at + 1]) : 0.0F;
    }
  }
}

// Attends to the ancestors of a row, four at a time, so that their loads are in flight together.
template <class T, int kDim>
__device__ inline void attend_ancestors(const AttentionView& view, int64_t row, int32_t head, RowResult<kDim>& result) {
  constexpr int kAtOnce = 4, kOfLane = RowResult<kDim>::kOfLane;
  const int32_t kv_head = head / (view.heads / view.kv_heads);
  const T* keys = static_cast<const T*>(view.unshared_keys) + int64_t{kv_head} * view.head_dim;
  const T* values = static_cast<const T*>(view.unshared_values) + int64_t{kv_head} * view.head_dim;
  const int64_t stride = int64_t{view.kv_heads} * view.head_dim;
  float query[kOfLane];
  load_row<T, kDim>(static_cast<const T*>(view.queries) + row * view.query_stride + int64_t{head} * view.head_dim,
                    view.head_dim, query);
  for (int32_t first = 0; first < view.depth; first += kAtOnce) {
    int64_t slots[kAtOnce];
    float products[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      slots[i] = first + i < view.depth ? view.ancestors[row * view.depth + first + i] : -1;
      if (slots[i] >= view.unshared_slots) slots[i] = -1;
      products[i] = 0.0F;
      if (slots[i] < 0) continue;
      float key[kOfLane];
      load_row<T, kDim>(keys + slots[i] * stride, view.head_dim, key);
#pragma unroll
      for (int d = 0; d < kOfLane; ++d) products[i] = fmaf(query[d], key[d], products[i]);
    }
    float largest = result.maximum;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float product = warp_sum(products[i]) * (view.scale * kLog2E);
      const float bias =
          view.ancestor_bias == nullptr || slots[i] < 0 ? 0.0F : view.ancestor_bias[head * view.depth + first + i];
      if (bias == -infinity()) slots[i] = -1;  // whatever its key and value hold
      products[i] = slots[i] < 0 ? -infinity() : fmaf(bias, kLog2E, product);
      largest = fmaxf(largest, products[i]);
    }
    const float base = largest == -infinity() ? 0.0F : largest;
    result.rescale(largest, exp2f(result.maximum - base));
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (slots[i] < 0) continue;
      const float weight = exp2f(products[i] - base);
      float value[kOfLane];
      load_row<T, kDim>(values + slots[i] * stride, view.head_dim, value);
      result.weight += weight;
#pragma unroll
      for (int d = 0; d < kOfLane; ++d) result.sums[d] = fmaf(weight, value[d], result.sums[d]);
    }
  }
}

// Folds a partial result in.
template <int kDim>
__device__ inline void merge_partial(const AttentionView& view, int64_t place, RowResult<kDim>& result) {
  const float maximum = view.statistics[place * kStatistics], weight = view.statistics[place * kStatistics + 1];
  const float largest = fmaxf(result.maximum, maximum), base = largest == -infinity() ? 0.0F : largest;
  const float take = exp2f(maximum - base);
  result.rescale(largest, exp2f(result.maximum - base));
  result.weight = fmaf(weight, take, result.weight);
#pragma unroll
  for (int i = 0; i < RowResult<kDim>::kOfLane; ++i) {
    const int at = RowResult<kDim>::column(i);
    if (at < view.head_dim) result.sums[i] = fmaf(view.sums[place * view.head_dim + at], take, result.sums[i]);
  }
}

template <int kDim>
__device__ inline void leave_partial(const AttentionView& view, int64_t place, const RowResult<kDim>& result) {
  if (lane_id() == 0) {
    view.statistics[place * kStatistics] = result.maximum;
    view.statistics[place * kStatistics + 1] = result.weight;
  }
#pragma unroll
  for (int i = 0; i < RowResult<kDim>::kOfLane; ++i) {
    const int at = RowResult<kDim>::column(i);
    if (at < view.head_dim) view.sums[place * view.head_dim + at] = result.sums[i];
  }
}

// Writes a row's output. The weight of a row that attends to nothing is 0; one that attended to NaN has NaN.
template <class T, int kDim>
__device__ inline void write_row(const AttentionView& view, int64_t row, int32_t head, const RowResult<kDim>& result) {
  const int64_t place = row * view.heads + head;
  const float by = result.weight > 0.0F || result.weight != result.weight ? 1.0F / result.weight : 0.0F;
#pragma unroll
  for (int i = 0; i < RowResult<kDim>::kOfLane; ++i) {
    const int at = RowResult<kDim>::column(i);
    if (at < view.head_dim) static_cast<T*>(view.output)[place * view.head_dim + at] = narrowed<T>(result.sums[i] * by);
  }
  if (lane_id() == 0 && view.log_sum_exp != nullptr)
    view.log_sum_exp[place] = (result.maximum + log2f(result.weight)) * kLn2;
}

// Calls work(row, head) for this warp's share of all rows and heads, of which there are fewer than 2^31.
template <class Work>
__device__ __forceinline__ void for_rows(const AttentionView& view, int64_t block, int64_t blocks, const Work& work) {
  const auto heads = static_cast<uint32_t>(view.heads);
  const uint32_t count = static_cast<uint32_t>(view.parts[view.requests].first_row) * heads;
  for (uint32_t i = static_cast<uint32_t>(block) * kWarps + static_cast<uint32_t>(warp_id()); i < count;
       i += static_cast<uint32_t>(blocks) * kWarps)
    work(int64_t{i / heads}, static_cast<int32_t>(i % heads));
}

// The unshared stage by itself: each row leaves a partial result.
template <class T, int kDim>
__device__ inline void attend_unshared(const AttentionView& view, int64_t block, int64_t blocks) {
  for_rows(view, block, blocks, [&](int64_t row, int32_t head) {
    RowResult<kDim> result;
    result.clear();
    attend_ancestors<T, kDim>(view, row, head, result);
    leave_partial<kDim>(view, view.unshared_partials + row * view.heads + head, result);
  });
}

// Merging, with the unshared stage where that is not done by itself.
template <class T, int kDim>
__device__ inline void merge_row(const AttentionView& view, int64_t row, int32_t head) {
  const int64_t request = part_of(view.requests, row, [&](int64_t i) { return view.parts[i].first_row; });
  const SharedPart& part = view.parts[request];
  if (is_whole(view, part)) return;
  RowResult<kDim> result;
  result.clear();
  if (view.unshared_partials >= 0) {
    merge_partial<kDim>(view, view.unshared_partials + row * view.heads + head, result);
  } else {
    attend_ancestors<T, kDim>(view, row, head, result);
  }
  const int32_t group = view.heads / view.kv_heads;
  const int64_t query = (row - part.first_row) * group + head % group;
  constexpr int kRows = Tile<T, kDim>::kRows;
  const int64_t item = part.first_item + int64_t{head / group} * part.splits * part.tiles + query / kRows;
  for (int64_t split = 0; split < part.splits; ++split)
    merge_partial<kDim>(view, (item + split * part.tiles) * kRows + query % kRows, result);
  write_row<T, kDim>(view, row, head, result);
}

}  // namespace sidbeam::runner::cuda
