// Chosen lanes of vectors, moved to the front in order. SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_FRONT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_FRONT_INL
#undef SIDBEAM_CPU_FRONT_INL
#else
#define SIDBEAM_CPU_FRONT_INL
#endif

#include <array>
#include <cstring>

#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// Of each choice of eight lanes their numbers in order, four bits each. Highway's Compress has such a table within a
// function, which gcc 12 copies to the stack for every vector: a kilobyte, and four fifths of keep_codes()'s time.
constexpr std::array<uint32_t, 256> make_front_lanes() {
  std::array<uint32_t, 256> all{};
  for (uint32_t chosen = 0; chosen < 256; ++chosen) {
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < 8; ++lane)
      if ((chosen >> lane & 1) != 0) all[chosen] |= lane << (4 * count++);
  }
  return all;
}
inline constexpr std::array<uint32_t, 256> kFrontLanes = make_front_lanes();

// Lanes that are chosen once and moved in several vectors.
using Front = hn::Vec<U32>;

HWY_INLINE Front front_of(uint64_t chosen) {
  const U32 du;
  const auto packed = hn::Set(du, kFrontLanes[chosen]);
  return hn::And(hn::Shr(packed, hn::ShiftLeft<2>(hn::Iota(du, 0))), hn::Set(du, 7));
}
HWY_INLINE Front front_of(hn::Mask<F32> chosen) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(F32(), chosen, bits);
  return front_of(uint64_t{bits[0]});
}
HWY_INLINE hn::Vec<U32> to_front(const Front& front, hn::Vec<U32> lanes) {
  return hn::TableLookupLanes(lanes, hn::IndicesFromVec(U32(), front));
}
HWY_INLINE hn::Vec<F32> to_front(const Front& front, hn::Vec<F32> lanes) {
  return hn::BitCast(F32(), to_front(front, hn::BitCast(U32(), lanes)));
}
#else
using Front = hn::Mask<F32>;

HWY_INLINE Front front_of(uint64_t chosen) {
  uint8_t bits[8];
  std::memcpy(bits, &chosen, sizeof bits);
  return hn::LoadMaskBits(F32(), bits);
}
HWY_INLINE Front front_of(hn::Mask<F32> chosen) { return chosen; }
HWY_INLINE hn::Vec<U32> to_front(const Front& front, hn::Vec<U32> lanes) {
  return hn::Compress(lanes, hn::RebindMask(U32(), front));
}
HWY_INLINE hn::Vec<F32> to_front(const Front& front, hn::Vec<F32> lanes) { return hn::Compress(lanes, front); }
#endif

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
