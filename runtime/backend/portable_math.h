// Elementary functions in double from +, -, * and / alone. The C library's may differ in the last bit from machine to
// machine, and with it a score.
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

inline constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;  // the bits of sqrt(1/2)

// log(x) of a normal x > 0, to 1e-12: 2 atanh(s) of the mantissa, brought to [sqrt(1/2), sqrt(2)) by its bits, because
// a branch is mispredicted too often.
SIDBEAM_HD inline double portable_log(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x), above = bits - kSqrtHalf;
  const auto exponent = static_cast<double>(static_cast<int64_t>(above) >> 52);
  const auto mantissa = std::bit_cast<double>(bits - (above & 0xFFF0000000000000));
  const double s = (mantissa - 1.0) / (mantissa + 1.0), z = s * s, z2 = z * z;
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

}  // namespace sidbeam
