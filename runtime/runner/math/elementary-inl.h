// More elementary functions on vectors of f32, and sums over them. Compiled once per instruction set; every target
// gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_ELEMENTARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_ELEMENTARY_INL
#undef SIDBEAM_RUNNER_ELEMENTARY_INL
#else
#define SIDBEAM_RUNNER_ELEMENTARY_INL
#endif

#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// NOLINTNEXTLINE(google-build-using-namespace): the vectors of this target.
using namespace cpu::HWY_NAMESPACE;

// exp(x), to 3e-7 relative up to |x| = 20 and 1.3e-8 |x| beyond: 0 below -87, exp(88) above 88; garbage for NaN.
HWY_INLINE Floats exp(Floats x) {
  const F32 d;
  const Floats low = hn::Set(d, -87.0F);
  const Floats power = exp_in_range(hn::Min(hn::Max(x, low), hn::Set(d, 88.0F)));
  return hn::IfThenElseZero(hn::Ge(x, low), power);
}

// erf(x), to 4e-7: a rational function of degree 13 over 8 (Eigen's), 1 from 4 on; garbage for NaN.
HWY_INLINE Floats erf(Floats x) {
  const F32 d;
  const Floats y = hn::Min(hn::Max(x, hn::Set(d, -4.0F)), hn::Set(d, 4.0F)), square = hn::Mul(y, y);
  Floats p = fma(square, hn::Set(d, -2.72614225801306E-10F), hn::Set(d, 2.77068142495902E-8F));
  p = fma(p, square, hn::Set(d, -2.10102402082508E-6F));
  p = fma(p, square, hn::Set(d, -5.69250639462346E-5F));
  p = fma(p, square, hn::Set(d, -7.34990630326855E-4F));
  p = fma(p, square, hn::Set(d, -2.95459980854025E-3F));
  p = fma(p, square, hn::Set(d, -1.60960333262415E-2F));
  Floats q = fma(square, hn::Set(d, -1.45660718464996E-5F), hn::Set(d, -2.13374055278905E-4F));
  q = fma(q, square, hn::Set(d, -1.68282697438203E-3F));
  q = fma(q, square, hn::Set(d, -7.37332916720468E-3F));
  q = fma(q, square, hn::Set(d, -1.42647390514189E-2F));
  return hn::Div(hn::Mul(y, p), q);
}

// Lanes of a sum or maximum over many elements, whatever the width of a vector.
inline constexpr int kSumLanes = 16, kSumVectors = kSumLanes / kWidth;

// A vector's lanes become one number, by halves.
template <class D, class Combine>
HWY_INLINE float fold_lanes(D /*d*/, hn::Vec<D> lanes, [[maybe_unused]] const Combine& combine) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return fold_lanes(half, combine(hn::LowerHalf(half, lanes), hn::UpperHalf(half, lanes)), combine);
  }
#endif
  return hn::GetLane(lanes);
}

// kSumLanes numbers become one, by halves: combine(lane i, lane i + half), of vectors of any number of lanes.
template <class Combine>
HWY_INLINE float fold(Floats* lanes, const Combine& combine) {
#pragma GCC unroll 16
  for (int half = kSumVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
    for (int v = 0; v < half; ++v) lanes[v] = combine(lanes[v], lanes[v + half]);
  }
  return fold_lanes(F32(), lanes[0], combine);
}

HWY_INLINE float sum_of(Floats* lanes) {
  return fold(lanes, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
