// What tests of laws share. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "library.h"
#include "statistics.h"

namespace sampling {

inline constexpr int kSeeds = 20;

// The smallest chi-square tail of seeds 1 .. 20 and of all their counts together, times the number of these tests:
// Bonferroni's bound on how likely such a tail is if the law is right.
inline double fit(const std::vector<double>& law, const std::function<std::vector<int64_t>(int64_t seed)>& counts_of) {
  std::vector<int64_t> all(law.size());
  double least = 1;
  for (int64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<int64_t> counts = counts_of(seed);
    for (size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
    least = std::min(least, chi_square(counts, law));
  }
  return (kSeeds + 1) * std::min(least, chi_square(all, law));
}

inline std::vector<double> with_dead(std::vector<double> law, double dead) {
  law.push_back(dead);
  return law;
}

inline constexpr double kReject = 1e-3;

}  // namespace sampling
