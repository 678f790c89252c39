// Elementary functions in double from +, -, * and / alone. The C library's may differ in the last bit from machine to
// machine, and with it a score.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace sidbeam::cpu {

inline constexpr double kLn2 = 0.693147180559945309417;

// log(x), x > 0 and finite, to about 1e-16: 2 atanh(s) of the mantissa brought to [sqrt(1/2), sqrt(2)).
inline double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2.0;
    --exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0), square = s * s;
  double series = 0.0;
  for (int n = 23; n >= 3; n -= 2) series = (series + 1.0 / n) * square;
  return exponent * kLn2 + 2.0 * (s + s * series);
}

// exp(x), x <= 0, to about 1e-16 relative; 0 far below.
inline double portable_exp(double x) {
  if (x < -745.0) return 0.0;
  const double n = std::floor(x / kLn2 + 0.5), r = x - n * kLn2;
  double series = 1.0;
  for (int k = 14; k >= 1; --k) series = 1.0 + series * (r / k);
  return std::ldexp(series, static_cast<int>(n));
}

}  // namespace sidbeam::cpu
