// A row's log-sum-exp: sums of parts of the row, merged and then turned into a logarithm. Both happen in double, so
// that even for 2^24 columns they add no error to that of the chunks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/score.h"
#include "support/portable_math.h"

namespace sidbeam {

// The sum of exp(x): e^base * 2^exponent * sum. base is 0 unless |x| leaves no room for a power of two. A sum of
// 0 is empty, NaN is a bad one.
struct PartialSum {
  float base = 0.0F;
  int32_t exponent = 0;
  double sum = 0.0;
};

SIDBEAM_HD inline double reference(const PartialSum& sum) {
  return static_cast<double>(sum.base) + sum.exponent * kLn2;
}

// a + b where a has the larger reference.
SIDBEAM_HD inline PartialSum merge_into_larger(const PartialSum& a, const PartialSum& b) {
  if (a.base == b.base) return {a.base, a.exponent, a.sum + std::ldexp(b.sum, b.exponent - a.exponent)};
  return {a.base, a.exponent, a.sum + b.sum * portable_exp(reference(b) - reference(a))};
}

// The sum of two parts of a row.
SIDBEAM_HD inline PartialSum merge(const PartialSum& a, const PartialSum& b) {
  if (a.sum == 0.0) return b;
  if (b.sum == 0.0) return a;
  return reference(a) >= reference(b) ? merge_into_larger(a, b) : merge_into_larger(b, a);
}

// NaN for a bad sum, -inf for an empty one.
SIDBEAM_HD inline LogSum log_of(const PartialSum& sum) {
  if (!(sum.sum > 0.0 && sum.sum < std::numeric_limits<double>::infinity()))
    return {sum.sum == 0.0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN(), 0.0F};
  const double ref = reference(sum), log_sum = portable_log(sum.sum);
  const auto rounded = static_cast<float>(ref + log_sum);
  return {rounded, static_cast<float>((ref - static_cast<double>(rounded)) + log_sum)};
}

}  // namespace sidbeam
