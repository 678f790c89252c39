// Merging and taking the logarithm of partial sums; in double, so that a row of 2^20 columns adds no error to that of
// its chunks. Backends share it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/portable_math.h"

namespace sidbeam::cpu {

SIDBEAM_HD inline double reference(const PartialSum& sum) {
  return static_cast<double>(sum.base) + sum.exponent * kLn2;
}

// a + b where a has the larger reference.
SIDBEAM_HD inline PartialSum merge_into_larger(const PartialSum& a, const PartialSum& b) {
  if (a.base == b.base) return {a.base, a.exponent, a.sum + std::ldexp(b.sum, b.exponent - a.exponent)};
  return {a.base, a.exponent, a.sum + b.sum * portable_exp(reference(b) - reference(a))};
}

// Sums of two halves of a row.
SIDBEAM_HD inline PartialSum merge(const PartialSum& a, const PartialSum& b) {
  if (a.sum == 0.0) return b;
  if (b.sum == 0.0) return a;
  return reference(a) >= reference(b) ? merge_into_larger(a, b) : merge_into_larger(b, a);
}

// Whether a sum met NaN or +inf.
SIDBEAM_HD inline bool is_bad(const PartialSum& sum) { return sum.sum - sum.sum != 0.0; }

// NaN of a bad sum, -inf of an empty one.
SIDBEAM_HD inline LogSum log_of(const PartialSum& sum) {
  if (!(sum.sum > 0.0 && sum.sum < std::numeric_limits<double>::infinity()))
    return {sum.sum == 0.0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN(), 0.0F};
  const double ref = reference(sum), log_sum = portable_log(sum.sum);
  const auto rounded = static_cast<float>(ref + log_sum);
  return {rounded, static_cast<float>((ref - static_cast<double>(rounded)) + log_sum)};
}

inline PartialSum sum_of(const Kernels& kernels, const Elements& elements, int64_t n, float* maxima = nullptr) {
  PartialSum sum;
  kernels.sum_exp(elements, n, maxima, sum);
  return sum;
}

}  // namespace sidbeam::cpu
