// What a block knows of its item, and how rows come to shared memory. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/cuda/attention.h"
#include "runner/cuda/mma.cuh"
#include "support/cuda/block.cuh"

namespace sidbeam::runner::cuda {

using sidbeam::cuda::kAllLanes;
using sidbeam::cuda::kWarp;
using sidbeam::cuda::lane_id;
using sidbeam::cuda::shared_memory;
using sidbeam::cuda::thread_id;
using sidbeam::cuda::warp_id;

inline constexpr int kWarps = 4, kThreads = kWarps * kWarp;
inline constexpr float kLog2E = 1.44269504088896341F, kLn2 = 0.69314718055994531F;

// Sizes of an item's tiles. f32 has no tensor cores to fill; there a lane has a key.
template <class T, int kDim>
struct Tile {
  static constexpr bool kWide = sizeof(T) == 4;
  static constexpr int kRows = kWide ? 16 : 64;
  static constexpr int kKeys = kWide || kDim > 128 ? 32 : 64;
  static constexpr int kStages = kWide ? 1 : 2;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(T));  // elements
  // Neighbouring rows begin 16 bytes further on in the banks, so that 8 of them are read without conflict.
  static constexpr int kStride = kDim + kVector;
};

__device__ inline float infinity() { return __uint_as_float(0x7F800000U); }

// The last of parts [0, count) that begins at or before a number; `begin` is what counts as its beginning.
template <class Begin>
__device__ inline int64_t part_of(int64_t count, int64_t number, const Begin& begin) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (begin(middle) <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// One item of the shared stage. Query row t of a tile is row t / group of the request, head t % group of the KV head.
struct Item {
  const SharedPart* part;
  int64_t number;
  int32_t kv_head, group;
  int32_t first, rows;          // query rows: the tile's first, and how many the request has
  int64_t first_key, last_key;  // [first_key, last_key)

  __device__ int32_t row(int32_t t) const { return (first + t) / group; }  // of the request
  __device__ int32_t head(int32_t t) const { return kv_head * group + (first + t) % group; }
  __device__ bool has(int32_t t) const { return first + t < rows; }
};

template <class Shape>
__device__ inline Item find_item(const AttentionView& view, int64_t number) {
  Item item;
  item.number = number;
  item.part = view.parts + part_of(view.requests, number, [&](int64_t i) { return view.parts[i].first_item; });
  const SharedPart& part = *item.part;
  // Tiles come next to each other, since they read the same keys.
  const auto local = static_cast<uint32_t>(number - part.first_item);
  const uint32_t tiles = static_cast<uint32_t>(part.tiles), splits = static_cast<uint32_t>(part.splits);
  const uint32_t tile = local % tiles, split = local / tiles % splits;
  item.kv_head = static_cast<int32_t>(local / tiles / splits);
  item.group = view.heads / view.kv_heads;
  item.first = static_cast<int32_t>(tile) * Shape::kRows;
  item.rows = static_cast<int32_t>(item.part[1].first_row - part.first_row) * item.group;
  item.first_key = int64_t{split} * part.split_keys;
  int64_t last = item.first_key + part.split_keys;
  last = last < part.length ? last : part.length;
  if (part.causal >= 0) {
    const int32_t last_query = item.first + Shape::kRows < item.rows ? item.first + Shape::kRows : item.rows;
    const int64_t seen = int64_t{part.causal} + (last_query - 1) / item.group + 1;
    last = last < seen ? last : seen;
  }
  item.last_key = last;
  return item;
}

// Keys that query row t sees.
__device__ inline int64_t key_limit(const Item& item, int32_t t) {
  if (item.part->causal < 0) return item.last_key;
  const int64_t seen = int64_t{item.part->causal} + item.row(t) + 1;
  return seen < item.last_key ? seen : item.last_key;
}

// Bias of key 0 for query row t; nullptr: none.
__device__ inline const float* bias_of(const Item& item, int32_t t) {
  if (item.part->bias == nullptr || !item.has(t)) return nullptr;
  return item.part->bias + item.head(t) * item.part->bias_head_stride + int64_t{item.row(t)} * item.part->bias_row_step;
}

// Zeroes the loaded keys and values that a bias of -inf hides from all heads of the KV head: NaN plus -inf is NaN, and
// so is 0 times NaN. Ends with a barrier, if there are biases that may hide a key. (Dropping each product whose bias is
// -inf was tried: it serves single heads, but leaves their values, and made registers spill.)
template <class T, int kDim>
__device__ inline void clear_masked(const Item& item, int64_t first_key, T* keys, T* values) {
  using Shape = Tile<T, kDim>;
  const SharedPart& part = *item.part;
  if (part.bias == nullptr || part.bias_row_step != 0) return;  // relative positions hide nothing
  const int64_t key = first_key + thread_id();
  const float* bias = part.bias + int64_t{item.kv_head} * item.group * part.bias_head_stride + key;
  const bool real = thread_id() < Shape::kKeys && key < item.last_key;
  int32_t seen_by = real ? item.group : 1;  // heads, at most
#pragma unroll 1
  for (int32_t head = real ? item.group : 0; head > 0; --head, bias += part.bias_head_stride)
    seen_by -= *bias == -infinity() ? 1 : 0;
  const int first = thread_id() * Shape::kStride, last = first + (seen_by == 0 ? kDim : 0);
#pragma unroll 1
  for (int at = first; at < last; ++at) keys[at] = values[at] = T{};
  __syncthreads();
}

// Copies kRows rows of head_dim elements to shared memory, with zeros up to kDim and in rows from `count` on. `address`
// gives a row's; `vectors`: all are aligned to 16 bytes, and head_dim fills 16 bytes.
template <class T, int kDim, int kRows, class Address>
__device__ inline void load_rows(T* to, int64_t count, int32_t head_dim, bool vectors, const Address& address,
                                 AsyncCopies& copies) {
  using Shape = Tile<T, kDim>;
  if (vectors) {
    constexpr int kOfRow = kDim / Shape::kVector;
    [[maybe_unused]] constexpr int kAtOnce = kDim > 128 ? 1 : 4;  // wide heads have few registers left
#pragma unroll kAtOnce
    for (int i = thread_id(); i < kRows * kOfRow; i += kThreads) {
      const int row = i / kOfRow, at = i % kOfRow * Shape::kVector;
      const bool real = row < count && at < head_dim;
      copies.add(to + row * Shape::kStride + at, real ? address(row) + at : address(0), real);
    }
    return;
  }
  for (int i = thread_id(); i < kRows * kDim; i += kThreads) {
    const int row = i / kDim, at = i % kDim;
    to[row * Shape::kStride + at] = row < count && at < head_dim ? address(row)[at] : T{};
  }
}

// Keys and values of a KV head from a position on.
template <class T>
struct KvRow {
  const T* base;
  int64_t stride;
  __device__ const T* operator()(int row) const { return base + row * stride; }
};

// The block's query rows.
template <class T, int kDim>
__device__ inline void load_queries(const AttentionView& view, const Item& item, T* to, bool vectors,
                                    AsyncCopies& copies) {
  const T* queries = static_cast<const T*>(view.queries) + item.part->first_row * view.query_stride;
  const int64_t left = item.rows - item.first;
  load_rows<T, kDim, Tile<T, kDim>::kRows>(
      to, left, view.head_dim, vectors,
      [&](int t) { return queries + item.row(t) * view.query_stride + int64_t{item.head(t)} * view.head_dim; }, copies);
}

template <class T>
__device__ inline bool aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

// Where the result of a query row goes: to the output, where nothing is to be merged with it.
__device__ inline bool is_whole(const AttentionView& view, const SharedPart& part) {
  return part.splits == 1 && view.depth == 0;
}

}  // namespace sidbeam::runner::cuda
