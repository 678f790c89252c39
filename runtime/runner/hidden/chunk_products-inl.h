// Products of chunks of columns, whose weights lie together in the cache. Compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_CHUNK_PRODUCTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_CHUNK_PRODUCTS_INL
#undef SIDBEAM_RUNNER_CHUNK_PRODUCTS_INL
#else
#define SIDBEAM_RUNNER_CHUNK_PRODUCTS_INL
#endif

#include <algorithm>

#include "runner/hidden/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

// Products that are computed together. (The sixteen addresses of eight do not fit the registers, and folding the sums
// of eight together, by transposing them, gained nothing.)
inline constexpr int kTogether = 4;

// The sums of kTogether products of n inputs.
HWY_INLINE void multiply_together(const float* const* x, const float* const* w, int64_t n, float* out) {
  const F32 d;
  Floats sums[kTogether][kLaneVectors];
#pragma GCC unroll 32
  for (int p = 0; p < kTogether; ++p)
#pragma GCC unroll 32
    for (int v = 0; v < kLaneVectors; ++v) sums[p][v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) {
#pragma GCC unroll 32
    for (int p = 0; p < kTogether; ++p)
#pragma GCC unroll 32
      for (int v = 0; v < kLaneVectors; ++v)
        sums[p][v] = fma(hn::LoadU(d, x[p] + i + v * kWidth), hn::LoadU(d, w[p] + i + v * kWidth), sums[p][v]);
  }
#pragma GCC unroll 32
  for (int p = 0; p < kTogether; ++p)
    out[p] = fold<Dtype::kF32>(sums[p], x[p], reinterpret_cast<const std::byte*>(w[p]), i, n);
}

// Copies the inputs [first, first + n) of the weights of the list's columns [from, to), widened.
inline void pack_weights(const OutputLayer& layer, const PairList& list, int64_t from, int64_t to, int64_t first,
                         int64_t n, float* packed) {
  const int64_t begin = first * dtype_bytes(layer.dtype), bytes = n * dtype_bytes(layer.dtype);
  for (int64_t at = from; at < to; ++at) {
    const std::byte* ahead = layer.row(list.columns[std::min(at + kAhead, list.column_count - 1)]) + begin;
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(ahead + i, 0, 2);
    load_floats(layer.dtype, layer.row(list.columns[at]) + begin, n, packed + (at - from) * n);
  }
}

// The inputs [first, first + n) of the pairs of a chunk, whose columns begin with the list's `column`.
inline void multiply_chunk(const OutputLayer& layer, const PairList& list, int64_t chunk, int64_t first, int64_t n,
                           const float* packed) {
  const int64_t column = chunk << list.chunk_shift, end = list.starts[chunk + 1];
  for (int64_t at = list.starts[chunk]; at < end; at += kTogether) {
    const float *x[kTogether], *w[kTogether];
    float sums[kTogether];
    for (int p = 0; p < kTogether; ++p) {
      const Pair& pair = list.pairs[std::min(at + p, end - 1)];  // where fewer are left, the last one several times
      x[p] = list.rows[pair.row] + first;
      w[p] = packed + (pair.column - column) * n;
    }
    multiply_together(x, w, n, sums);
    for (int64_t i = at; i < std::min(at + kTogether, end); ++i) {
      const Pair& pair = list.pairs[i];
      const float bias = layer.bias != nullptr ? layer.bias[list.columns[pair.column]] : 0.0F;
      float& value = list.values[pair.value];
      value = (first == 0 ? bias : value) + sums[i - at];
    }
  }
}

inline void multiply_pairs_part(const OutputLayer& layer, const PairList& list, int64_t from, int64_t to,
                                float* packed) {
  if (list.chunk_shift == 0) return multiply_in_place(layer, list, from, to);
  for (int64_t first = 0; first < layer.width; first += kDotBlock) {
    const int64_t n = std::min(kDotBlock, layer.width - first);
    for (int64_t chunk = from; chunk < to; ++chunk) {
      const int64_t column = chunk << list.chunk_shift, end = (chunk + 1) << list.chunk_shift;
      pack_weights(layer, list, column, std::min(end, list.column_count), first, n, packed);
      multiply_chunk(layer, list, chunk, first, n, packed);
    }
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
