// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <cmath>
#include <numeric>

namespace sampling {
namespace {

// Q(a, x), the upper incomplete gamma function over gamma(a): by the series of P = 1 - Q, or by Legendre's continued
// fraction, whichever converges (Abramowitz and Stegun 6.5.29, 6.5.31, the latter evaluated by Lentz's method).
double upper_gamma(double a, double x) {
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-16; ++n) sum += term *= x / n;
    return 1 - scale * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int i = 1; i < 10000; ++i) {
    const double step = -i * (i - a);
    b += 2;
    d = 1 / (step * d + b);
    c = b + step / c;
    fraction *= c * d;
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return scale * fraction;
}

}  // namespace

double chi_square_tail(double statistic, int freedom) {
  return statistic <= 0 ? 1 : upper_gamma(freedom / 2.0, statistic / 2);
}

double chi_square(const std::vector<int64_t>& counts, const std::vector<double>& law) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  double statistic = 0;
  int freedom = -1;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (law[i] <= 0 && counts[i] > 0) return 0;
    if (law[i] <= 0) continue;
    const double expected = total * law[i], off = static_cast<double>(counts[i]) - expected;
    statistic += off * off / expected;
    ++freedom;
  }
  return freedom > 0 ? chi_square_tail(statistic, freedom) : 1;
}

}  // namespace sampling
