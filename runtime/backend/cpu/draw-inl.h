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

// exp(x - largest), as power_below() has it.
HWY_INLINE Floats powers_below(Floats x, Floats largest) {
  return exp_in_range(hn::Max(hn::Sub(x, largest), hn::Set(F32(), kLeastExponent)));
}

// Sums of weights by lanes, each weight in two parts that 32 bits hold: high * 2^20 + low. Both are read off the bits
// of floats: 2 leaves 22 bits behind the point of what is added to it, and kLowPart another 20 of what they leave over.
// (Doubles, with 64 bits for each weight, took a third longer.)
inline constexpr float kHighPart = 2.0F, kLowPart = 0x1.8p-19F;
inline constexpr int kLowBits = kWeightBits - 22;

struct WeightSum {
  hn::Vec<U32> high, low;
  uint32_t vectors;
};

HWY_INLINE WeightSum no_weights() { return {hn::Zero(U32()), hn::Zero(U32()), 0}; }

HWY_INLINE void add_weights(Floats power, WeightSum& sum) {
  const Floats part = hn::Set(F32(), kHighPart), above = hn::Add(power, part);
  const Floats rest = hn::Sub(power, hn::Sub(above, part));
  sum.high = hn::Add(sum.high, hn::BitCast(U32(), above));
  sum.low = hn::Add(sum.low, hn::BitCast(U32(), hn::Add(rest, hn::Set(F32(), kLowPart))));
  ++sum.vectors;
}

// Of at most kDrawBlock weights, beyond which a part might not fit. Both parts are added up at a time, as halves of 64
// bits: the high ones, which are not negative, are the lower half and carry nothing over.
HWY_INLINE uint64_t total_of(const WeightSum& sum) {
  const U32 du;
  const U64 d64;
  const auto high = hn::Sub(sum.high, hn::Set(du, sum.vectors * std::bit_cast<uint32_t>(kHighPart)));
  const auto low = hn::Sub(sum.low, hn::Set(du, sum.vectors * std::bit_cast<uint32_t>(kLowPart)));
  const auto both = hn::Add(hn::BitCast(d64, hn::InterleaveLower(du, high, low)),
                            hn::BitCast(d64, hn::InterleaveUpper(du, high, low)));
  const uint64_t total = hn::GetLane(hn::SumOfLanes(d64, both));
  const auto lows = static_cast<int32_t>(total >> 32);
  return ((total & 0xFFFFFFFF) << kLowBits) + static_cast<uint64_t>(int64_t{lows});
}

// Those beyond n, up to the end of a vector, are 0.
HWY_INLINE void write_powers(const float* x, int64_t n, float largest, float* powers) {
  const F32 d;
  const Floats top = hn::Set(d, largest);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(powers_below(hn::LoadU(d, x + i), top), d, powers + i);
  if (i == n) return;
  const auto is_there = hn::FirstN(d, static_cast<size_t>(n - i));
  hn::StoreU(hn::IfThenElseZero(is_there, powers_below(hn::LoadU(d, x + i), top)), d, powers + i);
}

HWY_INLINE uint64_t weigh_block(const float* powers, int64_t n) {
  WeightSum sum = no_weights();
  for (int64_t i = 0; i < n; i += kWidth) add_weights(hn::LoadU(F32(), powers + i), sum);
  return total_of(sum);
}

// kWidth weights, in order. Returns their sum.
HWY_INLINE uint64_t write_weights(Floats powers, uint64_t* weights) {
  const U64 d64;
  const hn::Repartition<double, F32> df64;
  const hn::Half<F32> half;
  const auto weights_of = [&](hn::Vec<hn::Half<F32>> part) HWY_ATTR {
    const auto sum = hn::Add(hn::PromoteTo(df64, part), hn::Set(df64, kFixedPoint));
    return hn::Sub(hn::BitCast(d64, sum), hn::BitCast(d64, hn::Set(df64, kFixedPoint)));
  };
  const auto low = weights_of(hn::LowerHalf(half, powers)), high = weights_of(hn::UpperHalf(half, powers));
  hn::StoreU(low, d64, weights);
  hn::StoreU(high, d64, weights + kWidth / 2);
  return hn::GetLane(hn::SumOfLanes(d64, hn::Add(low, high)));
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
#else
inline void write_powers(const float* x, int64_t n, float largest, float* powers) {
  for (int64_t i = 0; i < n; ++i) powers[i] = power_below(x[i], largest);
}

inline uint64_t weigh_block(const float* powers, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += weight_of_power(powers[i]);
  return sum;
}

inline int64_t choose_in_block(const float* powers, int64_t, uint64_t threshold) {
  int64_t i = 0;
  for (uint64_t sum = weight_of_power(powers[0]); sum <= threshold;) sum += weight_of_power(powers[++i]);
  return i;
}
#endif

// In two passes: in one, the core has too few operations of the next vectors in sight, and takes a third longer.
inline uint64_t weigh(const float* x, int64_t n, float largest, float* powers, uint64_t* cumulative) {
  write_powers(x, n, largest, powers);
  uint64_t total = 0;
  int64_t i = 0;
  for (; i + kDrawBlock <= n; i += kDrawBlock)
    cumulative[i / kDrawBlock] = total += weigh_block(powers + i, kDrawBlock);
  if (i < n) cumulative[i / kDrawBlock] = total += weigh_block(powers + i, n - i);
  return total;
}

inline int64_t choose(const float* powers, const uint64_t* cumulative, int64_t n, uint64_t threshold) {
  int64_t block = 0;
  for (int64_t left = (n + kDrawBlock - 1) / kDrawBlock; left > 1;) {
    const int64_t half = left / 2;
    block += cumulative[block + half - 1] <= threshold ? half : 0;
    left -= half;
  }
  const int64_t first = block * kDrawBlock;
  const uint64_t before = block > 0 ? cumulative[block - 1] : 0;
  return first + choose_in_block(powers + first, std::min<int64_t>(kDrawBlock, n - first), threshold - before);
}

inline Above above(const float* x, int64_t n, float threshold, const float* largest) {
  int64_t i = 0;
  Above result;
#if HWY_TARGET != HWY_SCALAR
  const F32 d;
  const Floats least = hn::Set(d, threshold), minus_infinity = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Floats top = hn::Set(d, largest != nullptr ? *largest : 0.0F);
  while (i + kWidth <= n) {
    const int64_t end = std::min(i + kDrawBlock, n - kWidth + 1);
    WeightSum mass = no_weights();
    for (; i < end; i += kWidth) {
      const Floats v = hn::LoadU(d, x + i);
      const auto kept = hn::Ge(v, least);
      const auto count = static_cast<int64_t>(hn::CountTrue(d, kept));
      result.count += count;
      if (largest != nullptr && count > 0)
        add_weights(powers_below(hn::IfThenElse(kept, v, minus_infinity), top), mass);
    }
    result.mass += total_of(mass);
  }
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
