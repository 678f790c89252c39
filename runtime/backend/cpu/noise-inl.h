// Philox and the noise of stochastic beams in vectors: backend/philox.h and backend/noise.h, operation by operation.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_NOISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_NOISE_INL
#undef SIDBEAM_CPU_NOISE_INL
#else
#define SIDBEAM_CPU_NOISE_INL
#endif

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/noise.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
using Words = hn::Vec<U32>;

struct PhiloxWords {
  Words word[4];
};

// The products of all lanes with a constant: even and odd lanes apart, then together.
HWY_INLINE void multiply(Words a, uint32_t factor, Words& high, Words& low) {
  const U32 d;
  const hn::Repartition<uint64_t, U32> d64;
  const Words by = hn::Set(d, factor);
  const auto even = hn::MulEven(a, by);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a))), by);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

HWY_INLINE PhiloxWords philox_vector(PhiloxWords counter, uint64_t seed) {
  const U32 d;
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    Words high0, low0, high1, low1;
    multiply(counter.word[0], kPhiloxM0, high0, low0);
    multiply(counter.word[2], kPhiloxM1, high1, low1);
    counter = {{hn::Xor(hn::Xor(high1, counter.word[1]), hn::Set(d, key0)), low1,
                hn::Xor(hn::Xor(high0, counter.word[3]), hn::Set(d, key1)), low0}};
    key0 += kPhiloxW0;
    key1 += kPhiloxW1;
  }
  return counter;
}

HWY_INLINE Floats log_near_one_vector(Floats f, Floats exponent) {
  const F32 d;
  Floats p = hn::Set(d, kLogC0);
  for (const float c : {kLogC1, kLogC2, kLogC3, kLogC4, kLogC5, kLogC6, kLogC7, kLogC8}) p = fma(p, f, hn::Set(d, c));
  const Floats square = hn::Mul(f, f);
  Floats rest = hn::Mul(hn::Mul(p, f), square);
  rest = fma(exponent, hn::Set(d, kLn2Low), rest);
  rest = fma(square, hn::Set(d, -0.5F), rest);
  return fma(exponent, hn::Set(d, kLn2Coarse), hn::Add(f, rest));
}

struct Mantissa {
  Floats minus_one, exponent;
};
HWY_INLINE Mantissa mantissa_of(Floats x) {
  const F32 d;
  const I32 di;
  const auto bits = hn::BitCast(di, x);
  const auto above = hn::Sub(bits, hn::Set(di, static_cast<int32_t>(kSqrtHalfBits)));
  const auto exponent_bits = hn::And(above, hn::Set(di, static_cast<int32_t>(0xFF800000U)));
  return {hn::Sub(hn::BitCast(d, hn::Sub(bits, exponent_bits)), hn::Set(d, 1.0F)),
          hn::ConvertTo(d, hn::ShiftRight<23>(above))};
}
HWY_INLINE Floats log_of_positive_vector(Floats x) {
  const Mantissa mantissa = mantissa_of(x);
  return log_near_one_vector(mantissa.minus_one, mantissa.exponent);
}

HWY_INLINE Floats exponential_vector(Words high, Words low) {
  const F32 d;
  const U32 du;
  const I32 di;
  const auto small = hn::Lt(high, hn::Set(du, 0x80000000U));
  const Words flip = hn::IfThenElse(small, hn::Zero(du), hn::Set(du, 0xFFFFFFFFU));
  const Words top = hn::Xor(high, flip), rest = hn::ShiftRight<16>(hn::Xor(low, flip));
  const auto as_float = [&](Words number) { return hn::ConvertTo(d, hn::BitCast(di, number)); };
  const Floats tail = fma(as_float(hn::And(top, hn::Set(du, 0xFFFFU))), hn::Set(d, 0x1p-32F),
                          hn::Mul(hn::Add(as_float(rest), hn::Set(d, 0.5F)), hn::Set(d, 0x1p-48F)));
  const Floats v = fma(as_float(hn::ShiftRight<16>(top)), hn::Set(d, 0x1p-16F), tail);
  const Mantissa mantissa = mantissa_of(v);
  const auto near = hn::Lt(v, hn::Set(d, kNearZero));
  const Floats f_small = hn::IfThenElse(near, hn::Neg(v), fma(hn::Set(d, -2.0F), v, hn::Set(d, 1.0F)));
  const Floats e_small = hn::IfThenElse(near, hn::Zero(d), hn::Set(d, -1.0F));
  const auto is_small = hn::RebindMask(d, small);
  return hn::Neg(log_near_one_vector(hn::IfThenElse(is_small, f_small, mantissa.minus_one),
                                     hn::IfThenElse(is_small, e_small, mantissa.exponent)));
}

struct NoiseVectors {
  Floats log_prob, probability, time;
};
HWY_INLINE NoiseVectors noise_vector(const RowScore& row, Floats x, Floats exponential) {
  const F32 d;
  Floats log_prob = hn::Sub(hn::Sub(x, hn::Set(d, row.normalizer.ref)), hn::Set(d, row.normalizer.rest));
  if (row.clamp) log_prob = hn::IfThenElse(hn::Lt(log_prob, hn::Zero(d)), log_prob, hn::Zero(d));
  log_prob = hn::Add(log_prob, hn::Zero(d));
  const auto within = hn::Ge(log_prob, hn::Set(d, -kMostLogProb));
  const Floats bounded = hn::IfThenElse(hn::Lt(log_prob, hn::Set(d, kMostLogProb)), log_prob, hn::Set(d, kMostLogProb));
  const Floats safe = hn::IfThenElseZero(within, bounded);
  return {log_prob, hn::IfThenElseZero(within, exp_in_range(safe)),
          hn::IfThenElse(within, hn::Mul(exponential, exp_in_range(hn::Neg(safe))),
                         hn::Set(d, std::numeric_limits<float>::infinity()))};
}
#endif

// The exponential variable of each child, and the earliest time among them.
inline float draw_noise(const RowScore& row, const NodeNoise& node, const uint32_t* tokens, int32_t n, const float* x,
                        float* exponentials) {
  float earliest = std::numeric_limits<float>::infinity();
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const F32 d;
  const U32 du;
  Floats least = hn::Set(d, earliest);
  const PhiloxWords counter{
      {hn::Set(du, static_cast<uint32_t>(node.hash)), hn::Set(du, static_cast<uint32_t>(node.hash >> 32)), hn::Zero(du),
       hn::Set(du, static_cast<uint32_t>(RandomUse::kNoise) << 8 | static_cast<uint32_t>(node.level))}};
  for (; i + kWidth <= n; i += kWidth) {
    PhiloxWords own = counter;
    own.word[2] = hn::LoadU(du, tokens + i);
    const PhiloxWords out = philox_vector(own, node.seed);
    const Floats exponential = exponential_vector(out.word[0], out.word[1]);
    hn::StoreU(exponential, d, exponentials + i);
    least = hn::Min(least, noise_vector(row, hn::LoadU(d, x + i), exponential).time);
  }
  earliest = hn::GetLane(hn::MinOfLanes(d, least));
#endif
  for (; i < n; ++i) {
    exponentials[i] = exponential_noise(node.seed, node.hash, tokens[i], node.level);
    earliest = std::min(earliest, child_noise(exponentials[i], log_prob_of(row, x[i])).time);
  }
  return earliest;
}

inline float perturb(const RowScore& row, const NodeNoise& node, const uint32_t* tokens, int32_t n, float* x,
                     float* exponentials) {
  const float earliest = draw_noise(row, node, tokens, n, x, exponentials);
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const F32 d;
  const Floats first = hn::Set(d, earliest), parent = hn::Set(d, node.arrival), least = hn::Set(d, kLeastArrival);
  for (; i + kWidth <= n; i += kWidth) {
    const Floats exponential = hn::LoadU(d, exponentials + i);
    const NoiseVectors noise = noise_vector(row, hn::LoadU(d, x + i), exponential);
    const Floats later = hn::Mul(noise.probability, hn::Add(hn::Sub(noise.time, first), parent));
    const Floats arrival = hn::IfThenElse(hn::Eq(noise.probability, hn::Zero(d)), exponential,
                                          hn::IfThenElse(hn::Gt(later, least), later, least));
    const Floats score = hn::Add(hn::Set(d, row.score), noise.log_prob);
    hn::StoreU(fma(hn::Set(d, -node.scale), log_of_positive_vector(arrival), score), d, x + i);
  }
#endif
  for (; i < n; ++i) {
    const float log_prob = log_prob_of(row, x[i]);
    const float arrival = arrival_of(child_noise(exponentials[i], log_prob), node.arrival, earliest);
    x[i] = perturbed_of(row.score + log_prob, arrival, node.scale);
  }
  return earliest;
}

inline void random_bits(uint64_t seed, int64_t request, const int64_t* draws, int32_t level, int32_t n, uint64_t* out) {
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const U32 du;
  HWY_ALIGN uint32_t low[kWidth], high[kWidth], first[kWidth], second[kWidth];
  const auto which = static_cast<uint64_t>(request);
  for (; i + kWidth <= n; i += kWidth) {
    for (int32_t j = 0; j < kWidth; ++j) {
      const Philox4 counter = draw_counter(request, draws[i + j], RandomUse::kCode, level);
      low[j] = counter.word[2];
      high[j] = counter.word[3];
    }
    const PhiloxWords counter{{hn::Set(du, static_cast<uint32_t>(which)),
                               hn::Set(du, static_cast<uint32_t>(which >> 32)), hn::Load(du, low), hn::Load(du, high)}};
    const PhiloxWords random = philox_vector(counter, seed);
    hn::Store(random.word[0], du, first);
    hn::Store(random.word[1], du, second);
    for (int32_t j = 0; j < kWidth; ++j) out[i + j] = uint64_t{second[j]} << 32 | first[j];
  }
#endif
  for (; i < n; ++i) out[i] = draw_bits(seed, request, draws[i], RandomUse::kCode, level);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
