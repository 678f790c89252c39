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

// Products whose sums are folded together, and those whose chains are interleaved. (The sixteen addresses of eight do
// not fit the registers.)
inline constexpr int kTogether = 8;
inline constexpr int kChains = 4;

using Lanes = Floats[kLaneVectors];

#if HWY_TARGET == HWY_AVX3
// Adds 128-bit blocks of two vectors, those that kLow chooses to those that kHigh does.
template <int kLow, int kHigh>
HWY_INLINE __m512 add_halves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, kLow), _mm512_shuffle_f32x4(a, b, kHigh));
}

// Eight products' sums at once, each folded as fold_vector() does: a third of the instructions.
HWY_INLINE void fold_together(Lanes (&sums)[kTogether], float* out) {
  __m512 eight[4], four[2];
  for (int i = 0; i < 4; ++i) eight[i] = add_halves<0x44, 0xEE>(sums[2 * i][0].raw, sums[2 * i + 1][0].raw);
  for (int i = 0; i < 2; ++i) four[i] = add_halves<0x88, 0xDD>(eight[2 * i], eight[2 * i + 1]);
  const __m512d a = _mm512_castps_pd(four[0]), b = _mm512_castps_pd(four[1]);
  __m512 two = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  two = _mm512_add_ps(two, _mm512_permute_ps(two, 0xB1));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm256_storeu_ps(out, _mm512_castps512_ps256(_mm512_permutexvar_ps(order, two)));
}
#else
HWY_INLINE void fold_together(Lanes (&sums)[kTogether], float* out) {
#pragma GCC unroll 32
  for (int p = 0; p < kTogether; ++p) out[p] = fold_lanes(sums[p]);
}
#endif

// The lanes of kChains products of n inputs.
HWY_INLINE void multiply_chains(const float* const* x, const float* const* w, int64_t n, Lanes* out) {
  const F32 d;
  Lanes sums[kChains];
#pragma GCC unroll 32
  for (int p = 0; p < kChains; ++p)
#pragma GCC unroll 32
    for (int v = 0; v < kLaneVectors; ++v) sums[p][v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes)
#pragma GCC unroll 32
    for (int p = 0; p < kChains; ++p)
#pragma GCC unroll 32
      for (int v = 0; v < kLaneVectors; ++v)
        sums[p][v] = fma(hn::LoadU(d, x[p] + i + v * kWidth), hn::LoadU(d, w[p] + i + v * kWidth), sums[p][v]);
  for (int p = 0; i < n && p < kChains; ++p)
    add_rest<Dtype::kF32>(sums[p], x[p], reinterpret_cast<const std::byte*>(w[p]), i, n);
#pragma GCC unroll 32
  for (int p = 0; p < kChains; ++p)
#pragma GCC unroll 32
    for (int v = 0; v < kLaneVectors; ++v) out[p][v] = sums[p][v];
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
    Lanes lanes[kTogether];
    float sums[kTogether];
    for (int p = 0; p < kTogether; ++p) {
      const Pair& pair = list.pairs[std::min(at + p, end - 1)];  // where fewer are left, the last one several times
      x[p] = list.rows[pair.row] + first;
      w[p] = packed + (pair.column - column) * n;
    }
#pragma GCC unroll 32
    for (int p = 0; p < kTogether; p += kChains) multiply_chains(x + p, w + p, n, lanes + p);
    fold_together(lanes, sums);
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
