// exp(x) * 2^-exponent, to be added to a sum: eight operations a vector.
//
// x is counted in steps of 1/32 octave: step = round(x * 32 L), L the float nearest log2(e), and what is left of x is
// within half a step. 2^(step / 32) is a table's entry with the octaves added to its exponent field; for the rest a
// parabola will do, and written as a square, (rest + 46)^2 + constant, it is one operation, as the 46 hides in the
// reduction. (Steps where 1/32 octave is not a power of two could centre it better: 46.17 would halve its error.)
//
// All steps are scaled by 2^-22: a step and what it is counted from lie in [2, 4), where a float has room for just
// that. So the low 12 bits of a float are the step in a window of 128 octaves, and the OR of such floats has a bit
// beyond those if one of them lies outside, on either side, or is NaN: a smaller exponent field than that of 2.0 has a
// bit that 2.0 has not, and so has a larger one; 0 is x * L = -2 exactly, which the odd significand of L rules out.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_EXP_TERMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_EXP_TERMS_INL
#undef SIDBEAM_CPU_EXP_TERMS_INL
#else
#define SIDBEAM_CPU_EXP_TERMS_INL
#endif

#include <array>
#include <bit>

#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kStepsAnOctave = 32, kFloor = 96,
                     kHeadroom = 32;  // the window: octaves below 2^exponent and above
inline constexpr float kStep = 0x1p-22F;
inline constexpr float kStepsOfX = kLog2E * kStepsAnOctave * kStep;
inline constexpr float kCentre = 46.0F;  // steps
inline constexpr float kCurve =
    0x1.0a66bap+11F * kStep * kStep;  // (r + 46)^2 + this: 2^(r / 32) / c, |r| <= 1/2, to 1.27e-7

// 2^(i / 32) = kCoarse[i / 4] * kFine[i % 4] / c', rounded: to 2.55e-8. In two factors because AVX2 has no permutation of
// more than eight floats; among the c' and their roundings one of the better.
inline constexpr std::array<float, 8> kCoarse = {0x1.5ec1aap-64F, 0x1.7e80bp-64F,  0x1.a11f44p-64F, 0x1.c6dffap-64F,
                                                 0x1.f00b6cp-64F, 0x1.0e7862p-63F, 0x1.26f32cp-63F, 0x1.41a528p-63F};
inline constexpr std::array<float, 4> kFine = {0x1.08d512p+0F, 0x1.0ea1a2p+0F, 0x1.148eb4p+0F, 0x1.1a9cfep+0F};
// What a term is too large by.
inline constexpr double kTermScale = 1.4697403405922591;

// Entries less what the bits of their own index will add to the exponent field with the octaves.
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
  Floats limit;   // a larger x may lie outside
  Floats floor;   // a smaller x counts as this
  Floats origin;  // step 0 of the window
  Floats centre;  // and kCentre steps on
};

inline Window window_of(int32_t exponent) {
  const F32 d;
  const float origin = 2.0F + static_cast<float>((kFloor - exponent) * kStepsAnOctave) * kStep;
  return {hn::Set(d, static_cast<float>(exponent + kHeadroom - 1) * kLn2High),
          hn::Set(d, static_cast<float>(exponent - kFloor + 1) * kLn2High), hn::Set(d, origin),
          hn::Set(d, origin + kCentre * kStep)};
}

HWY_INLINE Floats step_of(const Window& window, Floats x) { return fma(x, hn::Set(F32(), kStepsOfX), window.origin); }

// Whether n steps lie within the window; n is even.
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

// sum + exp(x) * 2^-exponent * kTermScale, of an x whose step lies within the window.
HWY_INLINE Floats add_exp(const Window& window, Floats x, Floats step, Floats sum) {
  const F32 d;
  const Floats rest = fused_mul_sub(x, hn::Set(d, kStepsOfX), hn::Sub(step, window.centre));
  return fma(fma(rest, rest, hn::Set(d, kCurve)), power_of(step), sum);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
