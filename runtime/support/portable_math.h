// Elementary functions from +, -, * and, in f32, fused multiply-adds alone; portable_exp() divides too. The C library's
// may differ in the last bit from machine to machine, and with it a score.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

inline constexpr double kLn2 = 0.693147180559945309417;

// floor(log2(x)) of a normal x > 0.
SIDBEAM_HD inline int exponent_of(double x) {
  return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7FF) - 1023;
}

// Of reciprocal_near_2(): the line nearest 1 / x by relative distance, which is 0.015.
inline constexpr double kReciprocalAt0 = 0.98505, kReciprocalSlope = 0.239016;

// 1 / x for 1 + sqrt(1/2) <= x <= 1 + sqrt(2), to 3e-15: Newton's steps, each of which squares the distance. A GPU's
// division begins with an approximation of the hardware's own.
SIDBEAM_HD inline double reciprocal_near_2(double x) {
  const double line = kReciprocalAt0 - kReciprocalSlope * x, once = line * (2.0 - x * line),
               twice = once * (2.0 - x * once);
  return twice * (2.0 - x * twice);
}

inline constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;  // the bits of sqrt(1/2)

// log(x) of a normal x > 0, to 1e-12: 2 atanh(s) of the mantissa, brought to [sqrt(1/2), sqrt(2)) by its bits, because
// a branch is mispredicted too often.
SIDBEAM_HD inline double portable_log(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x), above = bits - kSqrtHalf;
  const auto exponent = static_cast<double>(static_cast<int64_t>(above) >> 52);
  const auto mantissa = std::bit_cast<double>(bits - (above & 0xFFF0000000000000));
  const double s = (mantissa - 1.0) * reciprocal_near_2(mantissa + 1.0), z = s * s, z2 = z * z;
  const double low = (1.0 / 3 + z * (1.0 / 5)) + z2 * (1.0 / 7 + z * (1.0 / 9));
  const double high = (1.0 / 11 + z * (1.0 / 13)) + z2 * (1.0 / 15);
  return exponent * kLn2 + 2.0 * (s + s * z * (low + z2 * z2 * high));
}

// exp(x), x <= 0, to about 1e-16 relative; 0 far below.
SIDBEAM_HD inline double portable_exp(double x) {
  if (x < -745.0) return 0.0;
  const double n = std::floor(x / kLn2 + 0.5), r = x - n * kLn2;
  double series = 1.0;
  for (int k = 14; k >= 1; --k) series = 1.0 + series * (r / k);
  return std::ldexp(series, static_cast<int>(n));
}

inline constexpr float kLog2E = 1.44269502162933349609F;  // the float nearest log2(e)
// Adding 1.5 * 2^23 rounds to an integer (ties to even), which is then in the low bits. Shifted left by 23 they become
// the exponent field of a float, and all other bits are lost.
inline constexpr float kRoundMagic = 12582912.0F;
// 2^f for |f| <= 1/2, to 1.5e-7: a minimax polynomial of degree 5, its best constant rounded to 1. (Constants, because
// a kernel cannot index an array of the host's.)
inline constexpr float kExp2C5 = 0x1.5b861ap-10F, kExp2C4 = 0x1.3d0decp-7F, kExp2C3 = 0x1.c6b82p-5F,
                       kExp2C2 = 0x1.ebf90ep-3F, kExp2C1 = 0x1.62e426p-1F;

// exp(x) for |x| <= 80, to 4e-7.
SIDBEAM_HD inline float exp_in_range(float x) {
  const float magic = kRoundMagic + 127.0F, biased = std::fma(x, kLog2E, magic);
  const float f = std::fma(x, kLog2E, -(biased - magic));
  float p = std::fma(kExp2C5, f, kExp2C4);
  p = std::fma(p, f, kExp2C3);
  p = std::fma(p, f, kExp2C2);
  p = std::fma(p, f, kExp2C1);
  p = std::fma(p, f, 1.0F);
  return p * std::bit_cast<float>(std::bit_cast<uint32_t>(biased) << 23);
}

}  // namespace sidbeam
