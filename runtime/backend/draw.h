// Drawing a code from a row, for every backend: weights are integers, so that their sums do not depend on the order,
// and exp is made of fused multiply-adds, which round alike everywhere. sidbeam/sampling.h has the definition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/partial_sum.h"
#include "backend/philox.h"
#include "backend/score.h"

namespace sidbeam {

// The weight of the largest x is 2^42, or 2^38 at levels of more than 2^20 codes: as many as a level has stay below
// 2^63.
inline constexpr int kWeightBits = 42, kWideWeightBits = 38;
// Of a level of so many codes, the end counted. Not of the children alone, whose number backends see differently.
SIDBEAM_HD inline int weight_bits(uint32_t codes) { return codes <= 1U << 20 ? kWeightBits : kWideWeightBits; }
// What powers are multiplied by, which is exact.
SIDBEAM_HD inline float weight_scale(int bits) { return bits == kWeightBits ? 1.0F : 0x1p-4F; }
static_assert(kWeightBits - kWideWeightBits == 4);

inline constexpr float kLeastExponent = -64.0F;  // of e: there a weight is 0

// Added to a double of at most 1, it leaves 42 bits behind the point, which become the lowest of the double.
inline constexpr double kFixedPoint = 1536.0;

// What the largest x of a row shows, +inf where any of them is +inf or NaN; only a row that is kReady is weighed.
SIDBEAM_HD inline RowOutcome outcome_of_largest(float largest) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (largest == kInfinity) return RowOutcome::kBad;
  return largest == -kInfinity ? RowOutcome::kEmpty : RowOutcome::kReady;
}

// exp(x - largest) where x <= largest, so at most 1.
SIDBEAM_HD inline float power_below(float x, float largest) {
  const float below = x - largest;
  return exp_in_range(below > kLeastExponent ? below : kLeastExponent);
}
// The same in units of 2^-42, rounded to the nearest.
SIDBEAM_HD inline uint64_t weight_of_power(float power) {
  return std::bit_cast<uint64_t>(static_cast<double>(power) + kFixedPoint) - std::bit_cast<uint64_t>(kFixedPoint);
}
SIDBEAM_HD inline uint64_t weight_of(float x, float largest, float scale = 1.0F) {
  return weight_of_power(power_below(x, largest) * scale);
}

__extension__ using Wide = unsigned __int128;

// The weight that the cumulative one must exceed: floor(bits * total / 2^64), which is below the total.
SIDBEAM_HD inline uint64_t threshold_of(uint64_t bits, uint64_t total) {
  return static_cast<uint64_t>(static_cast<Wide>(bits) * total >> 64);
}

// The logarithm of a sum of weights, times exp(largest): within 1e-6 of that of the sum of exp, for 2^20 of them at any
// distance below the largest, and of 38 bits within 4e-5 for 2^24.
SIDBEAM_HD inline LogSum log_of_weights(uint64_t total, float largest, int bits = kWeightBits) {
  if (total == uint64_t{1} << bits) return {largest, 0.0F};
  const double log_sum = portable_log(static_cast<double>(total)) - bits * kLn2, ref = static_cast<double>(largest);
  const auto rounded = static_cast<float>(ref + log_sum);
  return {rounded, static_cast<float>((ref - static_cast<double>(rounded)) + log_sum)};
}

// The log of the valid mass: of the sum over the valid codes and the normaliser of the row.
SIDBEAM_HD inline float log_mass_of(const RowScore& row, const LogSum& valid) {
  float log_mass = (valid.ref - row.normalizer.ref) + (valid.rest - row.normalizer.rest);
  if (row.clamp) log_mass = log_mass < 0.0F ? log_mass : 0.0F;
  return log_mass + 0.0F;
}

// What the log mass of a beam would show: with a given log-sum-exp it may exceed the range of f32, as a score may.
SIDBEAM_HD inline RowOutcome outcome_of_mass(float log_mass) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (log_mass == kInfinity) return RowOutcome::kBad;
  return log_mass > -kInfinity ? RowOutcome::kReady : RowOutcome::kEmpty;
}

}  // namespace sidbeam
