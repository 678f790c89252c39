// Elements to x: conversion from f16 and bf16, soft-cap, inverse temperature.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_ROWS_INL
#undef SIDBEAM_CPU_ROWS_INL
#else
#define SIDBEAM_CPU_ROWS_INL
#endif

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/math-inl.h"
#include "backend/half.h"
#include "sidbeam/rows.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

using U16 = hn::Rebind<uint16_t, F32>;

// Widened f16 to floats, as half.h does it: no float on the way is denormal.
HWY_INLINE Floats widen_f16(hn::Vec<U32> half) {
  const F32 d;
  const U32 du;
  const I32 di;
  const auto magnitude = hn::BitCast(di, hn::And(half, hn::Set(du, 0x7FFFU)));
  const auto rebias = hn::Set(di, 112 << 23);
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  const auto special = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), rebias);
  const auto tiny = hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
  const auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x0400)), tiny, hn::Add(normal, special));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000U)));
  return hn::BitCast(d, hn::Or(hn::BitCast(du, bits), sign));
}

// kWidth elements in order; conversion is exact.
template <int32_t kDtype>
HWY_INLINE Floats load_vector(const void* data) {
  const F32 d;
  if constexpr (kDtype == SIDBEAM_DTYPE_F32) {
    return hn::LoadU(d, static_cast<const float*>(data));
  } else if constexpr (kDtype == SIDBEAM_DTYPE_BF16) {
    const auto half = hn::PromoteTo(U32(), hn::LoadU(U16(), static_cast<const uint16_t*>(data)));
    return hn::BitCast(d, hn::ShiftLeft<16>(half));
  } else {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, F32>(), static_cast<const hwy::float16_t*>(data)));
#else
    return widen_f16(hn::PromoteTo(U32(), hn::LoadU(U16(), static_cast<const uint16_t*>(data))));
#endif
  }
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

// x of the codes of a list, in place; see Kernels::gather.
template <class Element, class Token>
inline int32_t gather_list(const Element* row, const Token* list, uint32_t codes, int32_t n, float* x,
                           uint32_t* tokens) {
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(Element) == 4) {
    const F32 d;
    const U32 du;
    const I32 di;
    const hn::Rebind<Token, F32> dt;
    for (; i + kWidth <= n; i += kWidth) {
      hn::Vec<U32> token;
      if constexpr (sizeof(Token) == 4) {
        token = hn::LoadU(dt, list + i);
      } else {
        token = hn::PromoteTo(du, hn::LoadU(dt, list + i));
      }
      if (!hn::AllTrue(du, hn::Lt(token, hn::Set(du, codes)))) break;  // damage
      const auto code = hn::BitCast(di, token);
      hn::StoreU(hn::GatherIndex(d, row, code), d, x + i);
      hn::StoreU(token, du, tokens + i);
    }
  }
#endif
  int32_t kept = i;
  for (; i < n; ++i) {
    if (list[i] >= codes) continue;
    x[kept] = float_of(row[list[i]]);
    tokens[kept++] = list[i];
  }
  return kept;
}

template <class Element>
inline int32_t gather_elements(const void* row, int64_t first_column, const TokenList& list, uint32_t codes, float* x,
                               uint32_t* tokens) {
  const Element* from = static_cast<const Element*>(row) + first_column;
  return list.width == 2 ? gather_list(from, static_cast<const uint16_t*>(list.data), codes, list.count, x, tokens)
                         : gather_list(from, static_cast<const uint32_t*>(list.data), codes, list.count, x, tokens);
}

inline int32_t gather(const Elements& elements, int64_t first_column, const TokenList& list, uint32_t codes, float* x,
                      uint32_t* tokens) {
  int32_t n;
  if (elements.dtype == SIDBEAM_DTYPE_F32) {
    n = gather_elements<float>(elements.data, first_column, list, codes, x, tokens);
  } else if (elements.dtype == SIDBEAM_DTYPE_F16) {
    n = gather_elements<F16>(elements.data, first_column, list, codes, x, tokens);
  } else {
    n = gather_elements<Bf16>(elements.data, first_column, list, codes, x, tokens);
  }
  transform(elements, x, n);
  return n;
}

// Lanes are not NaN.
HWY_INLINE float largest_lane(Floats x) { return hn::GetLane(hn::MaxOfLanes(F32(), x)); }

inline float largest(const float* x, int64_t n) {
  const F32 d;
  const Floats infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  Floats best = hn::Neg(infinity);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Floats v = hn::LoadU(d, x + i);
    best = hn::Max(best, hn::IfThenElse(hn::Lt(v, infinity), v, infinity));  // NaN is not below infinity
  }
  float result = largest_lane(best);
  for (; i < n; ++i)
    result =
        x[i] < std::numeric_limits<float>::infinity() ? std::max(result, x[i]) : std::numeric_limits<float>::infinity();
  return result;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
