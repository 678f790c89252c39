// Merging and taking the logarithm of partial sums; in double, so that a row of 2^20 columns adds no error to that of
// its chunks. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/portable_math.h"

namespace sidbeam::cpu {
namespace {

double reference(const PartialSum& sum) { return static_cast<double>(sum.base) + sum.exponent * kLn2; }

// a + b where a has the larger reference.
PartialSum merge_into_larger(const PartialSum& a, const PartialSum& b) {
  if (a.base == b.base) return {a.base, a.exponent, a.sum + std::ldexp(b.sum, b.exponent - a.exponent)};
  return {a.base, a.exponent, a.sum + b.sum * portable_exp(reference(b) - reference(a))};
}

}  // namespace

PartialSum merge(const PartialSum& a, const PartialSum& b) {
  if (a.sum == 0.0) return b;
  if (b.sum == 0.0) return a;
  return reference(a) >= reference(b) ? merge_into_larger(a, b) : merge_into_larger(b, a);
}

bool is_bad(const PartialSum& sum) { return !std::isfinite(sum.sum); }

LogSum log_of(const PartialSum& sum) {
  const double ref = reference(sum), log_sum = portable_log(sum.sum);
  const auto rounded = static_cast<float>(ref + log_sum);
  return {rounded, static_cast<float>((ref - static_cast<double>(rounded)) + log_sum)};
}

}  // namespace sidbeam::cpu
