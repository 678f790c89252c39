// Stochastic beams, and DISC with beams of two.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "checks.h"
#include "laws.h"
#include "models.h"
#include "papers.h"

namespace sampling {
namespace {

constexpr int64_t kRequests = 1 << 13;  // per seed; power_test.cc has more, of one model

// Two beams are two draws without replacement from plain constrained sampling, the first drawn first.
TEST(StochasticBeams, FollowTheLawOfDrawsWithoutReplacement) {
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true), oracle::figure_one()}) {
    const Library library = make_library(model);
    const oracle::Law plain = oracle::enumerate(oracle::make_sampler(model)).plain;
    const std::vector<int64_t> requests = first_numbers(kRequests);
    const auto counts_of = [&](int64_t seed) {
      return count_pairs(stochastic_beams(library, seed, requests, 2).draws, plain.size());
    };
    EXPECT_GT(fit(without_replacement(plain), counts_of), kReject);
  }
}

// By the oracle's scores of all SIDs: the three best, the fourth as the threshold, and q of each.
TEST(StochasticBeams, AreTheBestOfTheOraclesPerturbedScores) {
  constexpr size_t kWidth = 3;
  const std::vector<int64_t> requests = first_numbers(1000);
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true)}) {
    const oracle::Sampler sampler = oracle::make_sampler(model);
    const oracle::Laws laws = oracle::enumerate(sampler);
    const Beams beams = stochastic_beams(make_library(model), 5, requests, kWidth);
    for (size_t r = 0; r < requests.size(); ++r) {
      const oracle::Law scores = oracle::perturbed_scores(sampler, oracle::noise_of_request(5, requests[r]));
      std::vector<size_t> order(scores.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
      EXPECT_NEAR(beams.thresholds[r], scores[order[kWidth]], 1e-4);
      for (size_t m = 0; m < kWidth; ++m) {
        const size_t at = r * kWidth + m;
        const auto ordinal = static_cast<size_t>(beams.draws.ordinals[at]);
        const bool tie =
            scores[order[m]] - scores[order[m + 1]] < 1e-4 || (m > 0 && scores[order[m - 1]] - scores[order[m]] < 1e-4);
        EXPECT_TRUE(ordinal == order[m] || tie) << "request " << r << ", beam " << m;
        EXPECT_NEAR(beams.perturbed[at], scores[order[m]], 1e-4);
        const double log_p = std::log(laws.plain[ordinal]);
        EXPECT_NEAR(beams.draws.log_p[at], log_p, 1e-5);
        EXPECT_NEAR(beams.draws.log_x[at], std::log(laws.x[ordinal]), 1e-5);
        EXPECT_NEAR(std::exp(beams.log_q[at]), -std::expm1(-std::exp(log_p - scores[order[kWidth]])), 1e-4);
      }
    }
  }
}

// The sum over the result of P(a) f(a) / q(a) is unbiased for that over the catalogue. f is 1 for one SID at a time.
TEST(StochasticBeams, InclusionWeightsMakeSumsUnbiased) {
  constexpr size_t kWidth = 3;
  constexpr int64_t kSummed = 1 << 14;
  const std::vector<int64_t> requests = first_numbers(kSummed);
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true)}) {
    const oracle::Laws laws = oracle::enumerate(oracle::make_sampler(model));
    const Beams beams = stochastic_beams(make_library(model), 6, requests, kWidth);
    std::vector<double> sums(laws.p.size()), squares(laws.p.size());
    for (size_t at = 0; at < beams.draws.ordinals.size(); ++at) {
      const auto ordinal = static_cast<size_t>(beams.draws.ordinals[at]);
      const double term = std::exp(beams.draws.log_p[at] + beams.draws.log_x[at] - double{beams.log_q[at]});
      sums[ordinal] += term;
      squares[ordinal] += term * term;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const double mean = sums[i] / kSummed;
      const double deviation = std::sqrt((squares[i] / kSummed - mean * mean) / kSummed);
      EXPECT_LT(std::fabs(mean - laws.p[i]), 4 * deviation) << "SID " << i;  // 16 tests: 1e-3
    }
  }
}

// DISC with beams of two (the paper's table 6 does not say what its law is): a draw is the better by P of two
// stochastic beams, that is of two draws without replacement, and is accepted with its x. Its law is enumerated as
// DISC's is, with the better of two in place of a draw.
TEST(DiscWithBeamsOfTwo, FollowsItsEnumeratedLaw) {
  DiscRun run;
  run.results = 1 << 11;
  run.beams_of_two = true;
  for (const oracle::Model& model : {random_model(1, false), oracle::figure_one()}) {
    const Library library = make_library(model);
    const oracle::Laws laws = oracle::enumerate(oracle::make_sampler(model));
    const oracle::Law better = oracle::better_of_two(laws.plain, laws.p);
    EXPECT_NEAR(std::accumulate(better.begin(), better.end(), 0.0), 1, 1e-12);
    for (const int32_t rounds : {1, 2}) {
      run.rounds = rounds;
      std::vector<std::vector<int64_t>> counts;
      for (int64_t seed = 1; seed <= kSeeds; ++seed)
        counts.push_back(count(disc(library, {seed, 3, 0}, run).draws, laws.p.size()));
      const auto of_seed = [&](int64_t seed) { return counts[static_cast<size_t>(seed - 1)]; };
      EXPECT_GT(fit(with_dead(oracle::disc_law(better, laws.x, 0, rounds).law, 0), of_seed), kReject);
      // It is another law than that of single draws.
      EXPECT_LT(fit(with_dead(oracle::disc_law(laws.plain, laws.x, 0, rounds).law, 0), of_seed), kReject);
    }
  }
}

}  // namespace
}  // namespace sampling
