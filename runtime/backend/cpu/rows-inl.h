// Elements to x: conversion from f16 and bf16, soft-cap, inverse temperature.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_ROWS_INL
#undef SIDBEAM_CPU_ROWS_INL
#else
#define SIDBEAM_CPU_ROWS_INL
#endif

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/cpu/kernels.h"
#include "sidbeam/rows.h"
#include "support/half-inl.h"
#include "support/half.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// x = inverse_temperature * softcap(v): -inf stays -inf. Under a soft-cap, which would hide it, +inf becomes NaN.
HWY_INLINE Floats transform_one(Floats v, float soft_cap, float inverse_temperature) {
  const F32 d;
  if (soft_cap != 0.0F) {
    const Floats cap = hn::Set(d, soft_cap);
    const Floats infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const Floats capped = hn::Mul(cap, tanh(hn::Div(v, cap)));
    const auto keep = hn::Or(hn::Eq(v, hn::Neg(infinity)), hn::IsNaN(v));
    const Floats odd = hn::IfThenElse(hn::Eq(v, infinity), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), capped);
    v = hn::IfThenElse(keep, v, odd);
  }
  return hn::Mul(v, hn::Set(d, inverse_temperature));
}

// 32-bit words at an address that is a multiple of 2.
HWY_INLINE hn::Vec<U32> load_words(const uint16_t* from) {
#if HWY_TARGET == HWY_SCALAR
  uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return hn::Set(U32(), word);
#else
  const hn::Repartition<uint8_t, U32> bytes;
  return hn::BitCast(U32(), hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(from)));
#endif
}

inline constexpr int kVectors = kBlock / kWidth;

// Blocks of 64 columns, as the log-sum-exp takes them. bf16 is unpacked by a shift and a mask of 32-bit words, so that
// even columns come first, then the odd ones.
template <int32_t kDtype>
HWY_INLINE void load_block(const void* data, Floats* x) {
  const F32 d;
  if constexpr (kDtype == SIDBEAM_DTYPE_BF16) {
    const auto* from = static_cast<const uint16_t*>(data);
    for (int v = 0; v < kVectors / 2; ++v) {
      const auto words = load_words(from + 2 * v * kWidth);
      x[v] = hn::BitCast(d, hn::ShiftLeft<16>(words));
      x[v + kVectors / 2] = hn::BitCast(d, hn::And(words, hn::Set(U32(), 0xFFFF0000U)));
    }
  } else {
    constexpr int kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
    for (int v = 0; v < kVectors; ++v) x[v] = load_vector<kDtype>(static_cast<const char*>(data) + v * kWidth * kBytes);
  }
}

// Copies a block of which only n columns exist; the others become -inf.
template <int32_t kDtype>
inline void pad_block(const void* data, int64_t n, void* out) {
  constexpr size_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  constexpr uint32_t kMinusInfinity = kDtype == SIDBEAM_DTYPE_F32   ? 0xFF800000U
                                      : kDtype == SIDBEAM_DTYPE_F16 ? 0xFC00U
                                                                    : 0xFF80U;
  for (size_t i = 0; i < kBlock; ++i) std::memcpy(static_cast<char*>(out) + i * kBytes, &kMinusInfinity, kBytes);
  std::memcpy(out, data, static_cast<size_t>(n) * kBytes);
}

inline void transform(const Elements& elements, float* x, int64_t n) {
  const F32 d;
  if (!elements.transformed()) return;
  for (int64_t i = 0; i < n; i += kWidth)
    hn::StoreU(transform_one(hn::LoadU(d, x + i), elements.soft_cap, elements.inverse_temperature), d, x + i);
}

// Widens whole vectors directly and the rest through a padded copy, so that nothing beyond the row is read.
template <int32_t kDtype>
inline void widen_run(const uint16_t* data, int64_t n, float* out) {
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(load_vector<kDtype>(data + i), d, out + i);
  if (i == n) return;
  HWY_ALIGN uint16_t rest[kWidth] = {};
  std::memcpy(rest, data + i, static_cast<size_t>(n - i) * sizeof(uint16_t));
  hn::StoreU(load_vector<kDtype>(rest), d, out + i);
}

inline void load(const Elements& elements, int64_t first, int64_t n, float* out) {
  const auto* halves = static_cast<const uint16_t*>(elements.data) + first;
  if (elements.dtype == SIDBEAM_DTYPE_F32) {
    std::memcpy(out, static_cast<const float*>(elements.data) + first, static_cast<size_t>(n) * sizeof(float));
  } else if (elements.dtype == SIDBEAM_DTYPE_F16) {
    widen_run<SIDBEAM_DTYPE_F16>(halves, n, out);
  } else {
    widen_run<SIDBEAM_DTYPE_BF16>(halves, n, out);
  }
  transform(elements, out, n);
}

// Lanes are not NaN.
HWY_INLINE float largest_lane(Floats x) { return hn::GetLane(hn::MaxOfLanes(F32(), x)); }

// The larger of each; NaN, which is not below infinity, counts as that.
HWY_INLINE Floats raise_to(Floats best, Floats x) {
  const Floats infinity = hn::Set(F32(), std::numeric_limits<float>::infinity());
  return hn::Max(best, hn::IfThenElse(hn::Lt(x, infinity), x, infinity));
}
inline float raise_to(float best, float x) {
  return x < std::numeric_limits<float>::infinity() ? std::max(best, x) : std::numeric_limits<float>::infinity();
}

inline float largest(const float* x, int64_t n) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  if (n < kWidth) return std::accumulate(x, x + n, kNone, [](float best, float each) { return raise_to(best, each); });
  const F32 d;
  Floats best = hn::Set(d, kNone), other = best;
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    best = raise_to(best, hn::LoadU(d, x + i));
    other = raise_to(other, hn::LoadU(d, x + i + kWidth));
  }
  best = raise_to(best, hn::LoadU(d, x + std::min(i, n - kWidth)));  // the rest, and some of them again
  return largest_lane(hn::Max(raise_to(best, hn::LoadU(d, x + n - kWidth)), other));
}

#if HWY_TARGET != HWY_SCALAR
// The elements of kWidth codes, which `token` holds. (AVX2's own gather took 1.5 times as long on Zen 3.)
template <class Token>
HWY_INLINE Floats elements_of(const float* row, [[maybe_unused]] const Token* list,
                              [[maybe_unused]] hn::Vec<U32> token) {
#if HWY_TARGET == HWY_AVX2
  const auto four = [&](const Token* at) HWY_ATTR {
    const __m128 low = _mm_unpacklo_ps(_mm_load_ss(row + at[0]), _mm_load_ss(row + at[1]));
    return _mm_movelh_ps(low, _mm_unpacklo_ps(_mm_load_ss(row + at[2]), _mm_load_ss(row + at[3])));
  };
  return Floats{_mm256_insertf128_ps(_mm256_castps128_ps256(four(list)), four(list + 4), 1)};
#else
  return hn::GatherIndex(F32(), row, hn::BitCast(I32(), token));
#endif
}

// x and code of the first codes of a list, up to a damaged one; returns their number. `best` is raised to them.
template <class Token>
inline int32_t gather_vectors(const float* row, const Token* list, uint32_t codes, int32_t n, float* x,
                              uint32_t* tokens, float& best) {
  const F32 d;
  const U32 du;
  Floats top = hn::Set(d, best);
  const auto take = [&](int32_t at) HWY_ATTR {
    hn::Vec<U32> token;
    if constexpr (sizeof(Token) == 4) {
      token = hn::LoadU(du, list + at);
    } else {
      token = hn::PromoteTo(du, hn::LoadU(hn::Rebind<Token, F32>(), list + at));
    }
    if (!hn::AllTrue(du, hn::Lt(token, hn::Set(du, codes)))) return false;
    const Floats v = elements_of(row, list + at, token);
    top = raise_to(top, v);
    hn::StoreU(v, d, x + at);
    hn::StoreU(token, du, tokens + at);
    return true;
  };
  int32_t i = 0;
  while (i + kWidth <= n && take(i)) i += kWidth;
  if (i < n && i + kWidth > n && n >= kWidth && take(n - kWidth)) i = n;  // some of them again
  best = largest_lane(top);
  return i;
}
#endif

// x of the codes of a list, in place; see Kernels::gather.
template <class Element, class Token>
inline int32_t gather_list(const Element* row, const Token* list, uint32_t codes, int32_t n, float* x, uint32_t* tokens,
                           float& best) {
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(Element) == 4) i = gather_vectors(row, list, codes, n, x, tokens, best);
#endif
  int32_t kept = i;
  for (; i < n; ++i) {
    if (list[i] >= codes) continue;
    x[kept] = float_of(row[list[i]]);
    best = raise_to(best, x[kept]);
    tokens[kept++] = list[i];
  }
  return kept;
}

template <class Element>
inline int32_t gather_elements(const void* row, int64_t first_column, const TokenList& list, uint32_t codes, float* x,
                               uint32_t* tokens, float& best) {
  const Element* from = static_cast<const Element*>(row) + first_column;
  return list.width == 2
             ? gather_list(from, static_cast<const uint16_t*>(list.data), codes, list.count, x, tokens, best)
             : gather_list(from, static_cast<const uint32_t*>(list.data), codes, list.count, x, tokens, best);
}

inline int32_t gather(const Elements& elements, int64_t first_column, const TokenList& list, uint32_t codes, float* x,
                      uint32_t* tokens, float* top) {
  float best = -std::numeric_limits<float>::infinity();
  int32_t n;
  if (elements.dtype == SIDBEAM_DTYPE_F32) {
    n = gather_elements<float>(elements.data, first_column, list, codes, x, tokens, best);
  } else if (elements.dtype == SIDBEAM_DTYPE_F16) {
    n = gather_elements<F16>(elements.data, first_column, list, codes, x, tokens, best);
  } else {
    n = gather_elements<Bf16>(elements.data, first_column, list, codes, x, tokens, best);
  }
  transform(elements, x, n);
  if (top != nullptr) *top = elements.transformed() ? largest(x, n) : best;
  return n;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
