// Vectors of f32 from elements of 16 bits. Compiled once per instruction set; conversion is exact.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_SUPPORT_HALF_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_SUPPORT_HALF_INL
#undef SIDBEAM_SUPPORT_HALF_INL
#else
#define SIDBEAM_SUPPORT_HALF_INL
#endif

#include "sidbeam/base.h"
#include "support/math-inl.h"

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

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
