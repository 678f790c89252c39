// How unlikely counts are under a law. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sampling {

// Probability that a chi-square variable of so many degrees of freedom is at least `statistic`.
double chi_square_tail(double statistic, int freedom);

// The same for Pearson's statistic of counts under a law that sums to 1. A count where the law has 0 makes it 0.
double chi_square(const std::vector<int64_t>& counts, const std::vector<double>& law);

}  // namespace sampling
