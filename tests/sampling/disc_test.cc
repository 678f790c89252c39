// DISC: its enumerated law, the draws that it takes, and that its results are the oracle's.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "checks.h"
#include "laws.h"
#include "models.h"
#include "papers.h"

namespace sampling {
namespace {

constexpr int32_t kResults = 1 << 13;  // per seed

std::vector<oracle::Model> models() { return {random_model(1, false), random_model(2, true), oracle::figure_one()}; }

oracle::Laws laws_of(const oracle::Model& model) { return oracle::enumerate(oracle::make_sampler(model)); }

oracle::DiscLaw law_of(const oracle::Laws& laws, int rounds) {
  return oracle::disc_law(laws.plain, laws.x, laws.dead, rounds);
}

DiscRun run_of(int32_t results, int32_t rounds) {
  DiscRun run;
  run.results = results;
  run.rounds = rounds;
  return run;
}

// How often results were each SID, and accepted ones.
struct Counts {
  std::vector<int64_t> all, accepted;
};

Counts counts_of(const Library& library, int64_t seed, const DiscRun& run) {
  const DiscResults results = disc(library, {seed, 3, 0}, run);
  Draws accepted;
  for (size_t j = 0; j < results.accepted.size(); ++j)
    if (results.accepted[j] == 1) accepted.ordinals.push_back(results.draws.ordinals[j]);
  const size_t sids = library.model.catalogue.sids.size();
  return {count(results.draws, sids), count(accepted, sids)};
}

void check_law(const oracle::Model& model, const DiscRun& run) {
  const Library library = make_library(model);
  const oracle::Laws laws = laws_of(model);
  const oracle::DiscLaw law = law_of(laws, run.rounds);
  const auto all = with_dead(law.law, law.dead), exact = with_dead(oracle::exact_law(laws), 0);
  std::vector<Counts> counts;
  for (int64_t seed = 1; seed <= kSeeds; ++seed) counts.push_back(counts_of(library, seed, run));
  EXPECT_GT(fit(all, [&](int64_t seed) { return counts[static_cast<size_t>(seed - 1)].all; }), kReject);
  EXPECT_GT(fit(exact, [&](int64_t seed) { return counts[static_cast<size_t>(seed - 1)].accepted; }), kReject);
}

TEST(Disc, FollowsItsEnumeratedLawAndAcceptedResultsTheExactOne) {
  for (const oracle::Model& model : models())
    for (const int32_t rounds : {1, 2, 4}) check_law(model, run_of(kResults, rounds));
}

TEST(Disc, FollowsItsLawWhereDrawsDie) {
  for (const oracle::Model& model : {deadly_model(3, false), deadly_model(5, true)}) {
    const double dead = laws_of(model).dead;
    EXPECT_TRUE(dead > 0.1 && dead < 0.9) << dead;
    check_law(model, run_of(kResults / 16, 2));
  }
}

// The same test can tell DISC from what it corrects.
TEST(Disc, OfOneRoundIsToldFromTheExactLawAndPlainDraws) {
  const oracle::Model model = oracle::figure_one();
  const Library library = make_library(model);
  const oracle::Laws laws = laws_of(model);
  const auto counts = [&](int64_t seed) { return counts_of(library, seed, run_of(kResults, 1)).all; };
  EXPECT_LT(fit(with_dead(oracle::exact_law(laws), 0), counts), kReject);
  EXPECT_LT(fit(with_dead(laws.plain, 0), counts), kReject);
}

// E[k] = (1 - p^K)/(1 - p) + K p^K, with p = 1 - P of the catalogue: by enumeration, and on average.
TEST(Disc, TakesAsManyDrawsAsExpected) {
  for (const oracle::Model& model : models()) {
    const Library library = make_library(model);
    const oracle::Laws laws = laws_of(model);
    const double bad = 1 - oracle::mass_of(laws);
    for (const int rounds : {1, 2, 4, 8}) {
      const double expected = (1 - std::pow(bad, rounds)) / (1 - bad) + rounds * std::pow(bad, rounds);
      EXPECT_NEAR(law_of(laws, rounds).draws, expected, 1e-9);
      const DiscResults results = disc(library, {1, 8, 0}, run_of(1 << 16, rounds));
      double sum = 0, squares = 0;
      for (const int64_t used : results.used) {
        sum += static_cast<double>(used);
        squares += static_cast<double>(used * used);
      }
      const auto n = static_cast<double>(results.used.size());
      const double mean = sum / n, deviation = std::sqrt((squares / n - mean * mean) / n);
      EXPECT_LT(std::fabs(mean - expected), 4 * deviation) << "K " << rounds;  // 12 tests: 8e-4
    }
  }
}

// Theorem 3.1. The divergence also falls with K, by enumeration of the law, not by sampling.
TEST(Disc, StaysBelowTheBoundOfItsDivergence) {
  std::vector<oracle::Model> all = models();
  all.push_back(deadly_model(3, false));  // draws die
  for (const oracle::Model& model : all) {
    const oracle::Laws laws = laws_of(model);
    const oracle::Law exact = oracle::exact_law(laws);
    double before = oracle::kl(exact, laws.plain);
    for (const int rounds : {1, 2, 4, 8}) {
      const oracle::DiscLaw law = law_of(laws, rounds);
      const double divergence = oracle::kl(exact, law.law);
      EXPECT_LE(divergence, oracle::kl_bound(1 - oracle::mass_of(laws), rounds)) << "K " << rounds;
      EXPECT_LT(divergence, before);
      before = divergence;
    }
  }
}

// Result by result, unless something that decided it lies within rounding.
TEST(Disc, ResultsAreTheOracles) {
  constexpr int32_t kCompared = 2000;
  constexpr double kRounding = 4e-6;  // of x; of log x where it is resampled
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true), deadly_model(3, false)}) {
    const oracle::Sampler sampler = oracle::make_sampler(model);
    const DiscResults results = disc(make_library(model), {9, 10, 0}, run_of(kCompared, 3));
    int near = 0;
    for (int64_t j = 0; j < kCompared; ++j) {
      const auto at = static_cast<size_t>(j);
      const oracle::DiscResult expected = oracle::disc_result(sampler, {9, 10, 0}, j, 3);
      near += expected.margin < kRounding ? 1 : 0;
      if (expected.margin < kRounding) continue;
      EXPECT_EQ(results.draws.ordinals[at], expected.winner.ordinal) << j;
      EXPECT_EQ(results.numbers[at], expected.draw) << j;
      EXPECT_EQ(results.accepted[at], expected.accepted ? 1 : 0) << j;
      EXPECT_EQ(results.used[at], expected.used) << j;
    }
    EXPECT_LE(near, 10);
  }
}

TEST(Disc, ResultsDoNotDependOnHowManyDrawsRunSideBySide) {
  const Library library = make_library(random_model(2, true));
  DiscRun run = run_of(500, 4);
  const DiscResults one = disc(library, {1, 1, 0}, run);
  EXPECT_EQ(one.rows, one.used);
  for (const int32_t side_by_side : {2, 3, 4, 8}) {
    run.side_by_side = side_by_side;
    const DiscResults results = disc(library, {1, 1, 0}, run);
    EXPECT_EQ(results.draws.ordinals, one.draws.ordinals);
    EXPECT_EQ(results.numbers, one.numbers);
    EXPECT_EQ(results.used, one.used);
  }
}

// The catalogue has no mass: dead results, and no error.
TEST(Disc, ResultsAreDeadWhereNoDrawLives) {
  oracle::Model model = oracle::theorem_two_one(0.5, 0.5);
  model.row_of = [](const oracle::Sid&) { return std::vector<float>(2, -std::numeric_limits<float>::infinity()); };
  const DiscResults results = disc(make_library(model), {1, 1, 0}, run_of(3, 2));
  EXPECT_EQ(results.draws.ordinals, (std::vector<int64_t>{-1, -1, -1}));
  EXPECT_EQ(results.used, (std::vector<int64_t>{4, 4, 4}));
}

// Pairs of results: the second follows DISC's law without the first's SID.
TEST(Disc, WithoutReplacementFollowsTheLawOfWhatIsLeft) {
  constexpr int64_t kRequests = 500;  // per seed
  const Library library = make_library(oracle::figure_one());
  const oracle::Law law = law_of(laws_of(library.model), 2).law;
  DiscRun run = run_of(2, 2);
  run.without_replacement = true;
  run.side_by_side = 4;
  const auto counts_of = [&](int64_t seed) {
    Draws all;
    for (int64_t request = 0; request < kRequests; ++request)
      for (const int64_t ordinal : disc(library, {seed, request, 0}, run).draws.ordinals)
        all.ordinals.push_back(ordinal);
    return count_pairs(all, law.size());
  };
  EXPECT_GT(fit(without_replacement(law), counts_of), kReject);
}

// Two results of a request follow the product of DISC's law with itself.
TEST(Disc, TwoResultsOfARequestAreIndependent) {
  const Library library = make_library(oracle::figure_one());
  const oracle::Law law = law_of(laws_of(library.model), 2).law;
  std::vector<double> product;
  for (const double first : law)
    for (const double second : law) product.push_back(first * second);
  DiscRun run = run_of(kResults, 2);
  run.side_by_side = 4;
  const auto counts_of = [&](int64_t seed) { return count_pairs(disc(library, {seed, 3, 0}, run).draws, law.size()); };
  EXPECT_GT(fit(product, counts_of), kReject);
}

}  // namespace
}  // namespace sampling
