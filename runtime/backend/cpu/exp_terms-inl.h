// exp(x) * 2^-exponent, added to a sum: eight operations per vector, where a polynomial of degree 5 and a shift take
// ten and the floor of x an eleventh.
//
// x is counted in steps of 1/32 octave: step = round(x * 32 L), where L is the float nearest log2(e), and the rest of x
// is within half a step. 2^(step / 32) is a table entry with the octaves added to its exponent field. The rest needs
// only a parabola. Written as (rest + 46)^2 + constant it takes one operation, since adding the 46 is part of the
// reduction. (With 32 / ln 2 = 46.17 the error would be 0.5e-7 instead of 1.27e-7, but a float step counts only whole
// numbers.) The error of a term is that 1.27e-7, 2.6e-8 from the table, 4.2e-8 from rounding the square and 5.9e-8 from
// rounding the parabola: 2.5e-7 in total.
//
// Steps are scaled by 2^-22 and counted from 2.0, so that the low 12 bits of a float are a step in a window of 128
// octaves, and all other bits are those of 2.0. Any float outside the window, on either side, and any NaN, has a bit
// set that 2.0 lacks: every exponent field smaller or larger than 2.0's 10000000 has one. (0 has none, but it would
// need x * L = -origin, and L has too many bits for that.) So the OR of all steps shows whether any is outside, which
// replaces a maximum and a minimum.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_EXP_TERMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_EXP_TERMS_INL
#undef SIDBEAM_CPU_EXP_TERMS_INL
#else
#define SIDBEAM_CPU_EXP_TERMS_INL
#endif

#include <array>
#include <bit>

#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kStepsAnOctave = 32;
inline constexpr int kFloor = 96, kHeadroom = 32;  // the window, in octaves below and above 2^exponent
inline constexpr float kStep = 0x1p-22F;
inline constexpr float kStepsOfX = kLog2E * kStepsAnOctave * kStep;
// (r + kCentre)^2 + kCurve, in steps, is 4247.2 * 2^(r / 32) for |r| <= 1/2, to 1.27e-7.
inline constexpr float kCentre = 46.0F;
inline constexpr float kCurve = 0x1.0a66bap+11F * kStep * kStep;

// kCoarse[i / 4] * kFine[i % 4] is 1.4174 * 2^-64 * 2^(i / 32), to 2.55e-8 including rounding. There are two factors
// because AVX2 cannot permute more than eight floats. Of the scales tried at random, this one rounds best.
inline constexpr std::array<float, 8> kCoarse = {0x1.5ec1aap-64F, 0x1.7e80bp-64F,  0x1.a11f44p-64F, 0x1.c6dffap-64F,
                                                 0x1.f00b6cp-64F, 0x1.0e7862p-63F, 0x1.26f32cp-63F, 0x1.41a528p-63F};
inline constexpr std::array<float, 4> kFine = {0x1.08d512p+0F, 0x1.0ea1a2p+0F, 0x1.148eb4p+0F, 0x1.1a9cfep+0F};
// The factor that the table and the parabola together put on a term; it is divided out of the sum once.
inline constexpr double kTermScale = 1.4697403405922591;

// Each entry is reduced by what the bits of its index will add to the float when the octaves are added.
template <uint32_t kEntries, class Entry>
constexpr std::array<float, kEntries> table_of(const Entry& entry) {
  std::array<float, kEntries> table{};
  for (uint32_t i = 0; i < kEntries; ++i)
    table[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(entry(i)) - i * ((1U << 23) / kEntries));
  return table;
}
inline constexpr auto kCoarsePowers = table_of<8>([](uint32_t i) { return kCoarse[i]; });
inline constexpr auto kPowers = table_of<kStepsAnOctave>([](uint32_t i) { return kCoarse[i / 4] * kFine[i % 4]; });

struct Window {
  Floats limit;   // x above this may lie outside
  Floats floor;   // x below this is raised to it
  Floats origin;  // step 0 of the window
  Floats centre;  // the step kCentre after it
};

inline Window window_of(int32_t exponent) {
  const F32 d;
  const float origin = 2.0F + static_cast<float>((kFloor - exponent) * kStepsAnOctave) * kStep;
  return {hn::Set(d, static_cast<float>(exponent + kHeadroom - 1) * kLn2High),
          hn::Set(d, static_cast<float>(exponent - kFloor + 1) * kLn2High), hn::Set(d, origin),
          hn::Set(d, origin + kCentre * kStep)};
}

HWY_INLINE Floats step_of(const Window& window, Floats x) { return fma(x, hn::Set(F32(), kStepsOfX), window.origin); }

// Whether all n steps lie within the window; n is even.
HWY_INLINE bool all_within(const Floats* step, int n) {
  const U32 du;
  auto bits = hn::BitCast(du, step[0]);
  for (int v = 1; v + 1 < n; v += 2) bits = hn::Or3(bits, hn::BitCast(du, step[v]), hn::BitCast(du, step[v + 1]));
  bits = hn::Xor(hn::Or(bits, hn::BitCast(du, step[n - 1])), hn::Set(du, std::bit_cast<uint32_t>(2.0F)));
  return hn::AllTrue(du, hn::Lt(bits, hn::Set(du, (kFloor + kHeadroom) * kStepsAnOctave)));
}

// 2^(step / 32), scaled.
HWY_INLINE Floats power_of(Floats step) {
  const F32 d;
  const I32 di;
  const auto bits = hn::BitCast(di, step);
#if HWY_TARGET == HWY_AVX2
  const auto coarse = hn::ShiftRight<2>(bits);
  const __m256 entry = _mm256_permutevar8x32_ps(_mm256_loadu_ps(kCoarsePowers.data()), coarse.raw);
  const __m256 fine =
      _mm256_permutevar_ps(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(kFine.data())), bits.raw);
  return hn::Mul(hn::BitCast(d, hn::Add(hn::BitCast(di, Floats{entry}), hn::ShiftLeft<20>(coarse))), Floats{fine});
#else
#if HWY_TARGET == HWY_AVX3
  const Floats entry{_mm512_permutex2var_ps(_mm512_loadu_ps(kPowers.data()), bits.raw, _mm512_loadu_ps(&kPowers[16]))};
#else
  const Floats entry = hn::GatherIndex(d, kPowers.data(), hn::And(bits, hn::Set(di, kStepsAnOctave - 1)));
#endif
  return hn::BitCast(d, hn::Add(hn::BitCast(di, entry), hn::ShiftLeft<18>(bits)));
#endif
}

// sum + exp(x) * 2^-exponent * kTermScale, for an x whose step lies within the window.
HWY_INLINE Floats add_exp(const Window& window, Floats x, Floats step, Floats sum) {
  const F32 d;
  const Floats rest = fused_mul_sub(x, hn::Set(d, kStepsOfX), hn::Sub(step, window.centre));
  return fma(fma(rest, rest, hn::Set(d, kCurve)), power_of(step), sum);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
