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

// Noncentrality of the chi-square statistic of all seeds' counts, `observations` each, under `law` if they follow
// `actual`. `fit` falls below kReject for nearly every choice of seeds from 45 on with up to five degrees of freedom.
inline double noncentrality(const std::vector<double>& actual, const std::vector<double>& law, int64_t observations) {
  double sum = 0;
  for (size_t i = 0; i < law.size(); ++i)
    if (law[i] > 0) sum += (actual[i] - law[i]) * (actual[i] - law[i]) / law[i];
  return sum * static_cast<double>(kSeeds * observations);
}

// The law of ordered pairs drawn without replacement: [first * n + second].
inline std::vector<double> without_replacement(const std::vector<double>& law) {
  std::vector<double> pairs;
  for (size_t a = 0; a < law.size(); ++a)
    for (size_t b = 0; b < law.size(); ++b) pairs.push_back(a == b ? 0 : law[a] * law[b] / (1 - law[a]));
  return pairs;
}

}  // namespace sampling
