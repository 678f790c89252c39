// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sampling {
namespace {

// With two degrees of freedom the tail is e^(-x/2), with four e^(-x/2) (1 + x/2), with one erfc(sqrt(x/2)).
TEST(ChiSquare, TailIsThatOfTheClosedForms) {
  for (const double x : {1e-3, 0.5, 1.0, 2.9, 3.1, 10.0, 33.0, 80.0}) {
    EXPECT_NEAR(chi_square_tail(x, 2) / std::exp(-x / 2), 1, 1e-10) << x;
    EXPECT_NEAR(chi_square_tail(x, 4) / (std::exp(-x / 2) * (1 + x / 2)), 1, 1e-10) << x;
    EXPECT_NEAR(chi_square_tail(x, 1) / std::erfc(std::sqrt(x / 2)), 1, 1e-10) << x;
  }
}

TEST(ChiSquare, TailIsThatOfTheTables) {
  EXPECT_NEAR(chi_square_tail(18.307038, 10), 0.05, 1e-8);
  EXPECT_NEAR(chi_square_tail(24.321886, 7), 0.001, 1e-9);
  EXPECT_NEAR(chi_square_tail(124.342113, 100), 0.05, 1e-8);
  EXPECT_EQ(chi_square_tail(0, 3), 1);
}

TEST(ChiSquare, ComparesCountsWithALaw) {
  // (60 - 50)^2 / 50 + (40 - 50)^2 / 50 = 4
  EXPECT_NEAR(chi_square({60, 40}, {0.5, 0.5}), std::erfc(std::sqrt(2.0)), 1e-12);
  EXPECT_EQ(chi_square({60, 40, 0}, {0.5, 0.5, 0}), chi_square({60, 40}, {0.5, 0.5}));
  EXPECT_EQ(chi_square({60, 40, 1}, {0.5, 0.5, 0}), 0);
  EXPECT_EQ(chi_square({60}, {1}), 1);
}

}  // namespace
}  // namespace sampling
