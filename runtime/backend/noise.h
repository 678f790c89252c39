// The noise of stochastic beams, for every backend (Kool, van Hoof and Welling, "Stochastic beams and where to find
// them"; sidbeam/sampling.h). What chooses is made of integers, +, *, fused multiply-adds and no other instruction, so
// that every machine has the same; the probability of an inclusion, which follows from the choice, also divides.
//
// A perturbed score is G = score - log(T exp(score)), where T is the time at which the first SID below a prefix
// arrives, if SIDs arrive at the rates of their probabilities. A prefix keeps `arrival` = T exp(score). Given its
// parent's T, a child's is T + (t - min t): t = E / q are the children's times from their own exponential noise E and
// conditional probabilities q, and what follows the first of them has forgotten the time before. (The paper conditions
// Gumbel variables on their maximum instead, by two logarithms and an exponential per child.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/draw.h"
#include "backend/philox.h"

namespace sidbeam {

// A number for each prefix of each request, by which its noise is counted.
SIDBEAM_HD inline uint64_t mixed(uint64_t bits) {  // splitmix64
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}
SIDBEAM_HD inline uint64_t hash_of_request(int64_t request) { return mixed(static_cast<uint64_t>(request)); }
SIDBEAM_HD inline uint64_t hash_after(uint64_t hash, uint32_t code) { return mixed(hash ^ mixed(uint64_t{code} + 1)); }

// Of log_near_one(): a polynomial, and ln 2 in two parts.
inline constexpr float kLogC0 = 7.0376836292E-2F, kLogC1 = -1.1514610310E-1F, kLogC2 = 1.1676998740E-1F,
                       kLogC3 = -1.2420140846E-1F, kLogC4 = 1.4249322787E-1F, kLogC5 = -1.6668057665E-1F,
                       kLogC6 = 2.0000714765E-1F, kLogC7 = -2.4999993993E-1F, kLogC8 = 3.3333331174E-1F;
inline constexpr float kLn2Coarse = 0.693359375F, kLn2Low = -2.12194440E-4F;
inline constexpr uint32_t kSqrtHalfBits = 0x3F3504F3;  // of a float
inline constexpr float kNearZero = 0.2928932F;         // 1 - sqrt(1/2)
inline constexpr float kLeastArrival = 0x1p-120F;      // has a logarithm

// log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, plus exponent * ln 2 (Cephes logf): to 1e-7 relative, near 0 too.
SIDBEAM_HD inline float log_near_one(float f, float exponent) {
  float p = kLogC0;
  p = std::fma(p, f, kLogC1);
  p = std::fma(p, f, kLogC2);
  p = std::fma(p, f, kLogC3);
  p = std::fma(p, f, kLogC4);
  p = std::fma(p, f, kLogC5);
  p = std::fma(p, f, kLogC6);
  p = std::fma(p, f, kLogC7);
  p = std::fma(p, f, kLogC8);
  const float square = f * f;
  float rest = p * f * square;
  rest = std::fma(exponent, kLn2Low, rest);
  rest = std::fma(square, -0.5F, rest);
  return std::fma(exponent, kLn2Coarse, f + rest);
}

// The logarithm of a normal x > 0.
SIDBEAM_HD inline float log_of_positive(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto above = static_cast<int32_t>(bits - kSqrtHalfBits);
  const float mantissa = std::bit_cast<float>(bits - (static_cast<uint32_t>(above) & 0xFF800000U));
  return log_near_one(mantissa - 1.0F, static_cast<float>(above >> 23));
}

// An exponential variable of mean 1 from 48 bits, relatively accurate at both ends. With w the uniform number of these
// bits, E = -log(1 - w): v is w or 1 - w, whichever is below a half, and exact.
SIDBEAM_HD inline float exponential_of(uint32_t high, uint32_t low) {
  const bool small = high < 0x80000000U;
  const uint32_t top = small ? high : ~high, rest = (small ? low : ~low) >> 16;
  const float tail = std::fma(static_cast<float>(top & 0xFFFF), 0x1p-32F, (static_cast<float>(rest) + 0.5F) * 0x1p-48F);
  const float v = std::fma(static_cast<float>(top >> 16), 0x1p-16F, tail);
  if (!small) return -log_of_positive(v);
  return v < kNearZero ? -log_near_one(-v, 0.0F) : -log_near_one(std::fma(-2.0F, v, 1.0F), -1.0F);
}

inline constexpr uint32_t kRootCode = 0xFFFFFFFF;  // stands for the code of the empty prefix

// The exponential variable of a prefix: that of its parent's hash, and its last code.
SIDBEAM_HD inline float exponential_noise(uint64_t seed, uint64_t hash, uint32_t code, int32_t level) {
  const Philox4 out = philox({{static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), code,
                               static_cast<uint32_t>(RandomUse::kNoise) << 8 | static_cast<uint32_t>(level)}},
                             seed);
  return exponential_of(out.word[0], out.word[1]);
}

inline constexpr float kMostLogProb = 80.0F;  // beyond, either way, exp leaves the range of f32

// A child's conditional probability, 0 if it is below e^-80, and the time of its own noise.
struct ChildNoise {
  float exponential, probability, time;
};
SIDBEAM_HD inline ChildNoise child_noise(float exponential, float log_prob) {
  if (!(log_prob >= -kMostLogProb)) return {exponential, 0.0F, std::numeric_limits<float>::infinity()};
  const float bounded = log_prob < kMostLogProb ? log_prob : kMostLogProb;
  return {exponential, exp_in_range(bounded), exponential * exp_in_range(-bounded)};
}

// A child's arrival, given its parent's and the earliest time among the children. The first child's excess is exactly
// 0, which matters where the parent's arrival is tiny.
SIDBEAM_HD inline float arrival_of(const ChildNoise& child, float parent_arrival, float earliest) {
  if (child.probability == 0.0F) return child.exponential;
  const float arrival = child.probability * ((child.time - earliest) + parent_arrival);
  return arrival > kLeastArrival ? arrival : kLeastArrival;
}

// G, with the noise scaled.
SIDBEAM_HD inline float perturbed_of(float score, float arrival, float noise_scale) {
  return std::fma(-noise_scale, log_of_positive(arrival), score);
}

// The arrival of the empty prefix, whose score is 0.
SIDBEAM_HD inline float root_arrival(uint64_t seed, int64_t request) {
  return exponential_noise(seed, hash_of_request(request), kRootCode, 0);
}

// log(1 - exp(-exp(score - threshold))): of the probability that a SID is among those above the threshold.
SIDBEAM_HD inline float log_inclusion_of(float score, float threshold) {
  const double above = static_cast<double>(score) - static_cast<double>(threshold);
  if (!(above < 5.0)) return 0.0F;
  const double rate = above > 0.0 ? 1.0 / portable_exp(-above) : portable_exp(above);
  if (rate > 0.01) return static_cast<float>(portable_log(1.0 - portable_exp(-rate)));
  // log(rate (1 - rate/2 + rate^2/6 - ...))
  return static_cast<float>(above + portable_log(1.0 - rate * (0.5 - rate * (1.0 / 6 - rate * (1.0 / 24)))));
}

}  // namespace sidbeam
