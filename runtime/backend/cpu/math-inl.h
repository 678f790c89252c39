// Elementary functions on vectors of f32. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_MATH_INL
#undef SIDBEAM_CPU_MATH_INL
#else
#define SIDBEAM_CPU_MATH_INL
#endif

#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using Floats = hn::Vec<F32>;

inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(F32()));

// a * b + c in one rounding, where the target has no instruction for it: the product of two floats is exact in double,
// the sum is rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums"), and only then rounded
// to float.
inline float fma_one(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
  double sum = product + addend;
  if (std::isfinite(sum)) {
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    int64_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    if (error != 0.0 && (bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
    std::memcpy(&sum, &bits, sizeof bits);
  }
  return static_cast<float>(sum);
}

HWY_INLINE Floats fma(Floats a, Floats b, Floats c) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  const F32 d;
  HWY_ALIGN float x[kWidth], y[kWidth], z[kWidth];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (int i = 0; i < kWidth; ++i) z[i] = fma_one(x[i], y[i], z[i]);
  return hn::Load(d, z);
#else
  return hn::MulAdd(a, b, c);
#endif
}

inline constexpr float kLog2E = 1.44269502162933349609F;
inline constexpr float kLn2High = 0.693147182464599609375F;  // the float nearest ln 2
inline constexpr float kLn2Low = -1.90465429995776804525e-9F;
// Adding 1.5 * 2^23 rounds to an integer (to even), which then stands in the low bits.
inline constexpr float kRoundMagic = 12582912.0F;
inline constexpr int32_t kRoundMagicBits = 0x4B400000;

// exp(x) * 2^-exponent / kExpScale for |x| <= 2^20 where the result is neither too large nor too small for a normal
// float; elsewhere anything, NaN for NaN. Reduction to |r| <= ln2 / 2 in two steps, then a minimax polynomial of degree
// 5: relative error 7.6e-8 about kExpScale (degree 4: 2.6e-6). Its best constant lies between two floats, hence the
// scale, which whoever sums puts right once.
inline constexpr double kExpScale = 1.0000000734004815;

HWY_INLINE Floats scaled_exp(Floats x, int32_t exponent) {
  const F32 d;
  const I32 di;
  const Floats rounded = fma(x, hn::Set(d, kLog2E), hn::Set(d, kRoundMagic));
  const Floats n = hn::Sub(rounded, hn::Set(d, kRoundMagic));
  Floats r = fma(n, hn::Set(d, -kLn2High), x);
  r = fma(n, hn::Set(d, -kLn2Low), r);
  Floats p = fma(hn::Set(d, 0x1.0fe4f6p-7F), r, hn::Set(d, 0x1.575ebep-5F));
  p = fma(p, r, hn::Set(d, 0x1.5559f6p-3F));
  p = fma(p, r, hn::Set(d, 0x1.fffd18p-2F));
  p = fma(p, r, hn::Set(d, 0x1.fffff4p-1F));
  p = fma(p, r, hn::Set(d, 1.0F));
  // A product, not a sum of exponent fields: those would turn NaN into a number.
  const auto power = hn::Sub(hn::BitCast(di, rounded), hn::Set(di, kRoundMagicBits - 127 + exponent));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(power)));
}

// tanh(y): an odd polynomial near 0 (Cephes tanhf), 1 - 2 / (exp(2|y|) + 1) elsewhere.
HWY_INLINE Floats tanh(Floats y) {
  const F32 d;
  const Floats magnitude = hn::Abs(y), one = hn::Set(d, 1.0F);
  const Floats square = hn::Mul(y, y);
  Floats p = fma(hn::Set(d, -5.70498872745E-3F), square, hn::Set(d, 2.06390887954E-2F));
  p = fma(p, square, hn::Set(d, -5.37397155531E-2F));
  p = fma(p, square, hn::Set(d, 1.33314422036E-1F));
  p = fma(p, square, hn::Set(d, -3.33332819422E-1F));
  const Floats near = fma(hn::Mul(p, square), y, y);
  const Floats clamped = hn::Min(magnitude, hn::Set(d, 10.0F));  // from 9.02 on tanh is 1 in f32
  const Floats power = scaled_exp(hn::Add(clamped, clamped), 0);
  const Floats far = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625F)), near, hn::CopySign(far, y));
}

// x = inverse_temperature * softcap(v): -inf stays -inf, +inf becomes NaN under a soft-cap, which would otherwise hide
// it.
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

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
