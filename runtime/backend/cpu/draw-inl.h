// The weights of a row's children: backend/draw.h in vectors.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_DRAW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_DRAW_INL
#undef SIDBEAM_CPU_DRAW_INL
#else
#define SIDBEAM_CPU_DRAW_INL
#endif

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/draw.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
using U64 = hn::Repartition<uint64_t, F32>;

// exp(x - largest), as power_below() has it. The power of two is added to the exponent, which is the product where all
// are normal numbers, and leaves more to the units that multiply; octaves more, or fewer, cost nothing.
HWY_INLINE Floats powers_below(Floats x, Floats largest, int more_octaves = 0) {
  const F32 d;
  const I32 di;
  const Floats below = hn::Max(hn::Sub(x, largest), hn::Set(d, kLeastExponent)), scale = hn::Set(d, kLog2E);
  const Floats magic = hn::Set(d, kRoundMagic + static_cast<float>(more_octaves)), octaves = fma(below, scale, magic);
  const Floats p = exp2_near_zero(fused_mul_sub(below, scale, hn::Sub(octaves, magic)));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, octaves))));
}

// Sums of weights by lanes, each weight in two parts that 32 bits hold: high * 2^20 + low. Both are read off the bits
// of floats: 2 leaves 22 bits behind the point of what is added to it, and kLowPart another 20 of what they leave over.
// Less that sum, 2 + kLowPart is exact, so that the low part takes one more rounding and no more. (Doubles, with 64
// bits for each weight, took a third longer.)
inline constexpr float kHighPart = 2.0F, kLowPart = 0x1.8p-19F;
inline constexpr int kLowBits = kWeightBits - 22;

struct WeightSum {
  hn::Vec<U32> high, low;
  uint32_t vectors;
};

HWY_INLINE WeightSum no_weights() { return {hn::Zero(U32()), hn::Zero(U32()), 0}; }

HWY_INLINE void add_weights(Floats power, WeightSum& sum) {
  const F32 d;
  const Floats above = hn::Add(power, hn::Set(d, kHighPart));
  const Floats rest = hn::Add(power, hn::Sub(hn::Set(d, kHighPart + kLowPart), above));
  sum.high = hn::Add(sum.high, hn::BitCast(U32(), above));
  sum.low = hn::Add(sum.low, hn::BitCast(U32(), rest));
  ++sum.vectors;
}

// Of at most kDrawBlock weights, beyond which a part might not fit: 64-bit lanes whose sum has that of the high parts
// as its lower half, and that of the low ones, which may be negative, as its upper. The high ones carry nothing over.
HWY_INLINE hn::Vec<U64> halves_of(const WeightSum& sum) {
  const U32 du;
  const U64 d64;
  const auto high = hn::Sub(sum.high, hn::Set(du, sum.vectors * std::bit_cast<uint32_t>(kHighPart)));
  const auto low = hn::Sub(sum.low, hn::Set(du, sum.vectors * std::bit_cast<uint32_t>(kLowPart)));
  return hn::Add(hn::BitCast(d64, hn::InterleaveLower(du, high, low)),
                 hn::BitCast(d64, hn::InterleaveUpper(du, high, low)));
}
HWY_INLINE uint64_t weight_of_halves(uint64_t halves) {
  const auto low = static_cast<int32_t>(halves >> 32);
  return ((halves & 0xFFFFFFFF) << kLowBits) + static_cast<uint64_t>(int64_t{low});
}
HWY_INLINE uint64_t total_of(const WeightSum& sum) {
  return weight_of_halves(hn::GetLane(hn::SumOfLanes(U64(), halves_of(sum))));
}

// Up to kWidth elements, and 0 beyond.
HWY_INLINE Floats load_first(const float* x, int64_t n) {
  const F32 d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, x);
#else
  HWY_ALIGN float padded[kWidth] = {};
  std::memcpy(padded, x, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(d, padded);
#endif
}

// AVX-512 has an instruction that rounds to integers of 64 bits. There powers are in the unit of weights, and no sum is
// in parts, which makes weigh() an eighth faster on Zen 4.
inline constexpr int kPowerOctaves = HWY_TARGET == HWY_AVX3 ? kWeightBits : 0;

// Those beyond n, up to the end of a vector, are 0.
HWY_INLINE void write_powers(const float* x, int64_t n, float largest, int bits, float* powers) {
  const F32 d;
  const Floats top = hn::Set(d, largest);
  const int octaves = kPowerOctaves + bits - kWeightBits;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(powers_below(hn::LoadU(d, x + i), top, octaves), d, powers + i);
  if (i == n) return;
  const auto is_there = hn::FirstN(d, static_cast<size_t>(n - i));
  hn::StoreU(hn::IfThenElseZero(is_there, powers_below(load_first(x + i, n - i), top, octaves)), d, powers + i);
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE __m512i eight_weights(const float* powers) { return _mm512_cvtps_epu64(_mm256_loadu_ps(powers)); }

HWY_INLINE hn::Vec<U64> weigh_block(const float* powers, int64_t n) {
  __m512i sum = _mm512_add_epi64(eight_weights(powers), eight_weights(powers + 8));
  for (int64_t i = kWidth; i < n; i += kWidth)
    sum = _mm512_add_epi64(sum, _mm512_add_epi64(eight_weights(powers + i), eight_weights(powers + i + 8)));
  return hn::Vec<U64>{sum};
}
HWY_INLINE uint64_t weight_of_sum(uint64_t sum) { return sum; }
#else
HWY_INLINE hn::Vec<U64> weigh_block(const float* powers, int64_t n) {
  WeightSum sum = no_weights();
  for (int64_t i = 0; i < n; i += kWidth) add_weights(hn::LoadU(F32(), powers + i), sum);
  return halves_of(sum);
}
HWY_INLINE uint64_t weight_of_sum(uint64_t sum) { return weight_of_halves(sum); }
#endif

// Blocks whose sums are added up together: as many as there are lanes.
inline constexpr int kSums = kWidth / 2;

// The sum of each row of a square of lanes.
HWY_INLINE hn::Vec<U64> sums_of_rows(const uint64_t* square) {
  const U64 d;
  const auto pair = [&](int i) HWY_ATTR {
    const auto first = hn::Load(d, square + i * kSums), second = hn::Load(d, square + (i + 1) * kSums);
    return hn::Add(hn::InterleaveLower(d, first, second), hn::InterleaveUpper(d, first, second));
  };
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const auto four = [&](int i, int j) HWY_ATTR {
    const auto first = pair(i), second = pair(j);
    return hn::Add(hn::ConcatLowerLower(d, second, first), hn::ConcatUpperUpper(d, second, first));
  };
#if HWY_TARGET == HWY_AVX2
  return four(0, 2);
#else
  const auto even = four(0, 4), odd = four(2, 6);
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even),
                 hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even)));
#endif
#else
  return pair(0);
#endif
}

// In two passes: in one, the core has too few operations of the next vectors in sight, and takes a third longer.
inline uint64_t weigh(const float* x, int64_t n, float largest, int bits, float* powers, uint64_t* cumulative) {
  const U64 d64;
  write_powers(x, n, largest, bits, powers);
  HWY_ALIGN uint64_t square[kSums * kSums], sums[kSums];
  uint64_t total = 0;
  int64_t i = 0;
  for (; i + kSums * kDrawBlock <= n; i += kSums * kDrawBlock) {
    for (int row = 0; row < kSums; ++row)
      hn::Store(weigh_block(powers + i + row * kDrawBlock, kDrawBlock), d64, square + row * kSums);
    hn::Store(sums_of_rows(square), d64, sums);
    for (int row = 0; row < kSums; ++row) *cumulative++ = total += weight_of_sum(sums[row]);
  }
  for (; i < n; i += kDrawBlock) {
    const auto sum = weigh_block(powers + i, std::min<int64_t>(kDrawBlock, n - i));
    *cumulative++ = total += weight_of_sum(hn::GetLane(hn::SumOfLanes(d64, sum)));
  }
  return total;
}

#if HWY_TARGET == HWY_AVX3
// How many of the running sums of 8 numbers, added to `before`, are at most `threshold`. `before` becomes the last.
HWY_INLINE int64_t count_running(__m512i each, __m512i threshold, __m512i& before) {
  const __m512i zero = _mm512_setzero_si512();
  each = _mm512_add_epi64(each, _mm512_alignr_epi64(each, zero, 7));
  each = _mm512_add_epi64(each, _mm512_alignr_epi64(each, zero, 6));
  each = _mm512_add_epi64(_mm512_add_epi64(each, before), _mm512_alignr_epi64(each, zero, 4));
  before = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), each);
  return static_cast<int64_t>(hwy::PopCount(_mm512_cmple_epu64_mask(each, threshold)));
}

// Of n <= kDrawBlock weights: the number of those with which the sum does not exceed the threshold.
HWY_INLINE int64_t choose_in_block(const float* powers, int64_t n, uint64_t threshold) {
  const __m512i wanted = _mm512_set1_epi64(static_cast<int64_t>(threshold));
  __m512i before = _mm512_setzero_si512();
  int64_t chosen = 0;
  for (int64_t i = 0; i < n; i += kWidth) {
    chosen += count_running(eight_weights(powers + i), wanted, before);
    chosen += count_running(eight_weights(powers + i + 8), wanted, before);
  }
  return chosen;
}
#else
// The weights of powers, by halves of a vector.
struct Weights {
  hn::Vec<U64> low, high;
};
HWY_INLINE Weights weights_of(Floats powers) {
  const U64 d64;
  const hn::Repartition<double, F32> df64;
  const hn::Half<F32> half;
  const auto weights = [&](hn::Vec<hn::Half<F32> > part) HWY_ATTR {
    const auto sum = hn::Add(hn::PromoteTo(df64, part), hn::Set(df64, kFixedPoint));
    return hn::Sub(hn::BitCast(d64, sum), hn::BitCast(d64, hn::Set(df64, kFixedPoint)));
  };
  return {weights(hn::LowerHalf(half, powers)), weights(hn::UpperHalf(half, powers))};
}

// kWidth weights, in order. Returns their sum.
HWY_INLINE uint64_t write_weights(Floats powers, uint64_t* out) {
  const U64 d64;
  const Weights weights = weights_of(powers);
  hn::StoreU(weights.low, d64, out);
  hn::StoreU(weights.high, d64, out + kWidth / 2);
  return hn::GetLane(hn::SumOfLanes(d64, hn::Add(weights.low, weights.high)));
}

// Of n <= kDrawBlock weights. No branch depends on them: each draw would mispredict it.
HWY_INLINE int64_t choose_in_block(const float* powers, int64_t n, uint64_t threshold) {
  uint64_t weights[kDrawBlock], sum = 0, before = 0;
  int64_t first = 0;
  for (int64_t i = 0; i < n; i += kWidth) {
    sum += write_weights(hn::LoadU(F32(), powers + i), weights + i);
    first = sum <= threshold ? i + kWidth : first;
    before = sum <= threshold ? sum : before;
  }
  int64_t chosen = first;
  for (int i = 0; i + 1 < kWidth; ++i) {
    before += weights[first + i];
    chosen += before <= threshold ? 1 : 0;
  }
  return chosen;
}
#endif
#else
inline uint64_t weigh(const float* x, int64_t n, float largest, int bits, float* powers, uint64_t* cumulative) {
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    powers[i] = power_below(x[i], largest) * weight_scale(bits);
    cumulative[i / kDrawBlock] = total += weight_of_power(powers[i]);
  }
  return total;
}

inline int64_t choose_in_block(const float* powers, int64_t, uint64_t threshold) {
  int64_t i = 0;
  for (uint64_t sum = weight_of_power(powers[0]); sum <= threshold;) sum += weight_of_power(powers[++i]);
  return i;
}
#endif

// The block of the first weight with which the sum exceeds the threshold.
HWY_INLINE int64_t choose_block(const uint64_t* cumulative, int64_t n, uint64_t threshold) {
  int64_t block = 0;
  for (int64_t left = (n + kDrawBlock - 1) / kDrawBlock; left > 1;) {
    const int64_t half = left / 2;
    block += cumulative[block + half - 1] <= threshold ? half : 0;
    left -= half;
  }
  return block;
}

HWY_INLINE int32_t choose_one(const float* powers, const uint64_t* cumulative, int64_t n, int64_t block,
                              uint64_t threshold) {
  const int64_t first = block * kDrawBlock;
  const uint64_t before = block > 0 ? cumulative[block - 1] : 0;
  return static_cast<int32_t>(
      first + choose_in_block(powers + first, std::min<int64_t>(kDrawBlock, n - first), threshold - before));
}

// All blocks first, as a search is a chain of loads, of which the core then has several at hand.
inline void choose(const float* powers, const uint64_t* cumulative, int64_t n, uint64_t total, const uint64_t* bits,
                   int32_t draws, int32_t* chosen) {
  for (int32_t i = 0; i < draws; ++i)
    chosen[i] = static_cast<int32_t>(choose_block(cumulative, n, threshold_of(bits[i], total)));
  for (int32_t i = 0; i < draws; ++i)
    chosen[i] = choose_one(powers, cumulative, n, chosen[i], threshold_of(bits[i], total));
}

#if HWY_TARGET != HWY_SCALAR

// The number of x from 0 on that are at least a threshold, as far as whole vectors go. Counted lane by lane: to count
// the bits of each mask takes twice as long.
inline int64_t count_vectors(const float* x, int64_t n, float threshold) {
  const F32 d;
  const I32 di;
  const Floats least = hn::Set(d, threshold);
  hn::Vec<I32> counts[2] = {hn::Zero(di), hn::Zero(di)};
  const auto count = [&](int64_t i, hn::Vec<I32>& into) {
    into = hn::Sub(into, hn::VecFromMask(di, hn::RebindMask(di, hn::Ge(hn::LoadU(d, x + i), least))));
  };
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    count(i, counts[0]);
    count(i + kWidth, counts[1]);
  }
  if (i + kWidth <= n) count(i, counts[0]);
  return hn::GetLane(hn::SumOfLanes(di, hn::Add(counts[0], counts[1])));
}

// The same with the sum of their weights.
inline Above weigh_vectors(const float* x, int64_t n, float threshold, float largest) {
  const F32 d;
  const Floats least = hn::Set(d, threshold), minus_infinity = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Floats top = hn::Set(d, largest);
  Above result;
  for (int64_t i = 0; i + kWidth <= n;) {
    const int64_t end = std::min(i + kDrawBlock, n - kWidth + 1);
    WeightSum mass = no_weights();
    for (; i < end; i += kWidth) {
      const Floats v = hn::LoadU(d, x + i);
      const auto kept = hn::Ge(v, least);
      const auto count = static_cast<int64_t>(hn::CountTrue(d, kept));
      result.count += count;
      if (count > 0) add_weights(powers_below(hn::IfThenElse(kept, v, minus_infinity), top), mass);
    }
    result.mass += total_of(mass);
  }
  return result;
}

#endif

inline Above above(const float* x, int64_t n, float threshold, const float* largest) {
  int64_t i = 0;
  Above result;
#if HWY_TARGET != HWY_SCALAR
  if (largest != nullptr) {
    result = weigh_vectors(x, n, threshold, *largest);
  } else {
    result.count = count_vectors(x, n, threshold);
  }
  i = n / kWidth * kWidth;
#endif
  for (; i < n; ++i) {
    if (!(x[i] >= threshold)) continue;
    ++result.count;
    if (largest != nullptr) result.mass += weight_of(x[i], *largest);
  }
  return result;
}

// By the bits of each mask, since few are set. (gcc 12 copies the table behind Highway's CompressStore to the stack for
// each vector.)
inline int64_t find_at_least(const float* x, int64_t n, float threshold, uint32_t* at) {
  int64_t i = 0, kept = 0;
#if HWY_TARGET != HWY_SCALAR
  const F32 d;
  const Floats least = hn::Set(d, threshold);
  for (; i + kWidth <= n; i += kWidth) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Ge(hn::LoadU(d, x + i), least), bytes);
    uint64_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      at[kept++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
  }
#endif
  for (; i < n; ++i)
    if (x[i] >= threshold) at[kept++] = static_cast<uint32_t>(i);
  return kept;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
