// Elementary functions on vectors of f32. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_SUPPORT_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_SUPPORT_MATH_INL
#undef SIDBEAM_SUPPORT_MATH_INL
#else
#define SIDBEAM_SUPPORT_MATH_INL
#endif

#include <cmath>
#include <cstring>

#include "hwy/highway.h"
#include "support/portable_math.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using Floats = hn::Vec<F32>;

inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(F32()));

// a * b + c with one rounding, for targets without an instruction for it. The product of two floats is exact in double;
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
#if HWY_TARGET == HWY_SCALAR
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

// a * b - c with one rounding.
HWY_INLINE Floats fused_mul_sub(Floats a, Floats b, Floats c) {
#if HWY_TARGET == HWY_SCALAR
  return fma(a, b, hn::Neg(c));
#else
  return hn::MulSub(a, b, c);
#endif
}

inline constexpr float kLn2High = 0.693147182464599609375F;  // the float nearest ln 2

// 2^f for |f| <= 1/2; see portable_math.h.
HWY_INLINE Floats exp2_near_zero(Floats f) {
  const F32 d;
  Floats p = fma(hn::Set(d, kExp2C5), f, hn::Set(d, kExp2C4));
  p = fma(p, f, hn::Set(d, kExp2C3));
  p = fma(p, f, hn::Set(d, kExp2C2));
  p = fma(p, f, hn::Set(d, kExp2C1));
  return fma(p, f, hn::Set(d, 1.0F));
}

// exp(x) for |x| <= 80, to 3e-7 relative or 1.3e-8 x.
HWY_INLINE Floats exp_in_range(Floats x) {
  const F32 d;
  const I32 di;
  const Floats magic = hn::Set(d, kRoundMagic + 127.0F);
  const Floats biased = fma(x, hn::Set(d, kLog2E), magic);
  const Floats p = exp2_near_zero(fused_mul_sub(x, hn::Set(d, kLog2E), hn::Sub(biased, magic)));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, biased))));
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
  const Floats power = exp_in_range(hn::Add(clamped, clamped));
  const Floats far = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625F)), near, hn::CopySign(far, y));
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
