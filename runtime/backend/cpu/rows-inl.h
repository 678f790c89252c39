// Elements to x: conversion from f16 and bf16, soft-cap, inverse temperature.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_ROWS_INL
#undef SIDBEAM_CPU_ROWS_INL
#else
#define SIDBEAM_CPU_ROWS_INL
#endif

#include "backend/cpu/kernels.h"
#include "backend/cpu/math-inl.h"
#include "sidbeam/rows.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

using U16 = hn::Rebind<uint16_t, F32>;

// Widened halves to floats, as half.h does it: no float on the way is denormal.
HWY_INLINE Floats widen(hn::Vec<U32> half, int32_t dtype) {
  const F32 d;
  const U32 du;
  const I32 di;
  if (dtype == SIDBEAM_BF16) return hn::BitCast(d, hn::ShiftLeft<16>(half));
  const auto magnitude = hn::BitCast(di, hn::And(half, hn::Set(du, 0x7FFFU)));
  const auto rebias = hn::Set(di, 112 << 23);
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  const auto special = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), rebias);
  const auto tiny = hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
  const auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x0400)), tiny, hn::Add(normal, special));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000U)));
  return hn::BitCast(d, hn::Or(hn::BitCast(du, bits), sign));
}

inline void transform(const Elements& elements, float* x, int64_t n) {
  const F32 d;
  if (elements.soft_cap == 0.0F && elements.inverse_temperature == 1.0F) return;
  for (int64_t i = 0; i < n; i += kWidth)
    hn::StoreU(transform_one(hn::LoadU(d, x + i), elements.soft_cap, elements.inverse_temperature), d, x + i);
}

// Loads vectors while they are whole and the rest through a padded copy, so that nothing beyond the row is read.
inline void widen_run(const uint16_t* data, int32_t dtype, int64_t n, float* out) {
  const F32 d;
  const U16 d16;
  const U32 du;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    hn::StoreU(widen(hn::PromoteTo(du, hn::LoadU(d16, data + i)), dtype), d, out + i);
  if (i == n) return;
  HWY_ALIGN uint16_t rest[kWidth] = {};
  std::memcpy(rest, data + i, static_cast<size_t>(n - i) * sizeof(uint16_t));
  hn::StoreU(widen(hn::PromoteTo(du, hn::Load(d16, rest)), dtype), d, out + i);
}

inline void load(const Elements& elements, int64_t first, int64_t n, float* out) {
  if (elements.dtype == SIDBEAM_F32) {
    std::memcpy(out, static_cast<const float*>(elements.data) + first, static_cast<size_t>(n) * sizeof(float));
  } else {
    widen_run(static_cast<const uint16_t*>(elements.data) + first, elements.dtype, n, out);
  }
  transform(elements, out, n);
}

inline float largest(const float* x, int64_t n) {
  const F32 d;
  const Floats infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  Floats best = hn::Neg(infinity);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Floats v = hn::LoadU(d, x + i);
    best = hn::Max(best, hn::IfThenElse(hn::Lt(v, infinity), v, infinity));  // NaN is not below infinity
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, best));
  for (; i < n; ++i)
    result =
        x[i] < std::numeric_limits<float>::infinity() ? std::max(result, x[i]) : std::numeric_limits<float>::infinity();
  return result;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
