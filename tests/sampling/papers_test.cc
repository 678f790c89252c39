// What the DISC-PPV paper claims: plain constrained sampling is biased, DISC is not.
// SPDX-License-Identifier: Apache-2.0
#include "papers.h"

#include <cmath>

#include "checks.h"
#include "laws.h"

namespace sampling {
namespace {

constexpr int32_t kResults = 1 << 14;

oracle::Laws laws_of(const oracle::Model& model) { return oracle::enumerate(oracle::make_sampler(model)); }

// Figure 1: plain sampling gives "soccer gloves" (P 0.06) six times in ten, and the five times likelier "used soccer
// shoes" (0.324) less often. With K = 16 less than 2e-4 of the results are resampled, which no test of this many sees.
TEST(FigureOne, PlainSamplingIsBiasedAndDiscIsNot) {
  const Library library = make_library(oracle::figure_one());
  const oracle::Laws laws = laws_of(library.model);
  const auto exact = with_dead(oracle::exact_law(laws), 0);
  const auto plain = [&](int64_t seed) { return count(draw_first(library, {seed, 0, 0}, kResults), 3); };
  EXPECT_LT(fit(exact, plain), 1e-100);
  EXPECT_GT(plain(1)[0], plain(1)[1]);
  DiscRun run;
  run.results = kResults;
  run.rounds = 16;
  const auto by_disc = [&](int64_t seed) { return count(disc(library, {seed, 0, 0}, run).draws, 3); };
  EXPECT_GT(fit(exact, by_disc), kReject);
  EXPECT_GT(by_disc(1)[1], 5 * by_disc(1)[0]);
}

// Theorem 2.1: as epsilon goes to 0 the divergence of plain sampling goes to ln(1 / (1 - p_b)), which has no bound.
// DISC's stays below a tenth of it here.
TEST(TheoremTwoOne, DivergenceOfPlainSamplingRisesWithTheBadMass) {
  constexpr double kEpsilon = 1e-9;
  for (const double bad : {0.1, 0.5, 0.9, 0.99}) {
    const oracle::Laws laws = laws_of(oracle::theorem_two_one(bad, kEpsilon));
    const oracle::Law exact = oracle::exact_law(laws);
    EXPECT_NEAR(1 - oracle::mass_of(laws), bad, 1e-6);
    EXPECT_NEAR(oracle::kl(exact, laws.plain), std::log(1 / (1 - bad)), 1e-4);
    const oracle::DiscLaw disc = oracle::disc_law(laws.plain, laws.x, laws.dead, 64);
    EXPECT_LT(oracle::kl(exact, disc.law), 0.1 * oracle::kl(exact, laws.plain)) << bad;
  }
}

// The library draws by the same law: (1,0) has p_b of the draws, though next to nothing of P.
TEST(TheoremTwoOne, TheLibraryDrawsThatLaw) {
  const Library library = make_library(oracle::theorem_two_one(0.9, 1e-3));
  const oracle::Laws laws = laws_of(library.model);
  EXPECT_NEAR(laws.plain[2], 0.9, 1e-6);
  const auto plain = [&](int64_t seed) { return count(draw_first(library, {seed, 1, 0}, kResults), 3); };
  EXPECT_GT(fit(with_dead(laws.plain, 0), plain), kReject);
  EXPECT_LT(fit(with_dead(oracle::exact_law(laws), 0), plain), 1e-100);
}

}  // namespace
}  // namespace sampling
