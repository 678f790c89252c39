// Truncated draws, DISC and stochastic beams in such numbers that the test of their law sees a sampler that is tilted
// by 1 %. draws_test.cc has the same of draws that are not truncated.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "checks.h"
#include "laws.h"
#include "models.h"
#include "papers.h"

namespace sampling {
namespace {

constexpr double kEnough = 45;

oracle::Laws laws_of(const oracle::Model& model) { return oracle::enumerate(oracle::make_sampler(model)); }

using CountsOf = std::function<std::vector<int64_t>(int64_t seed)>;

// Counts of the right sampler pass, those of the tilted one, whose law is `tilted_law`, fail.
void check_power(const std::vector<double>& law, const std::vector<double>& tilted_law, int64_t observations,
                 const CountsOf& counts_of, const CountsOf& tilted_counts_of) {
  EXPECT_GE(noncentrality(tilted_law, law, observations), kEnough);
  EXPECT_GT(fit(law, counts_of), kReject);
  EXPECT_LT(fit(law, tilted_counts_of), kReject);
}

TEST(TiltedByOnePercent, TruncatedDrawsFail) {
  constexpr int64_t kDraws = 3 << 14;  // per seed
  for (const oracle::Model& model : {truncated(two_levels(), 3, 1), truncated(two_levels(), 0, 0.9F)}) {
    const oracle::Laws laws = laws_of(model), tilted_laws = laws_of(tilted(model));
    const auto counts_of = [&](const Library& library) {
      return [&](int64_t seed) { return count(draw_first(library, {seed, 7, 0}, kDraws), laws.plain.size()); };
    };
    const Library right = make_library(model), other = make_library(tilted(model));
    check_power(with_dead(laws.plain, laws.dead), with_dead(tilted_laws.plain, tilted_laws.dead), kDraws,
                counts_of(right), counts_of(other));
  }
}

// Results of DISC with two rounds under the model, and under another sampler.
void check_disc(const oracle::Model& model, const oracle::Model& other, float tilt, const oracle::DiscLaw& tilted_law,
                int32_t results) {
  const oracle::Laws laws = laws_of(model);
  const oracle::DiscLaw law = oracle::disc_law(laws.plain, laws.x, laws.dead, 2);
  const Library right = make_library(model), wrong = make_library(other);
  DiscRun run;
  run.results = results;
  run.rounds = 2;
  DiscRun tilted_run = run;
  tilted_run.tilt = tilt;
  const auto counts_of = [&](const Library& library, const DiscRun& its) {
    return [&](int64_t seed) { return count(disc(library, {seed, 3, 0}, its).draws, laws.p.size()); };
  };
  check_power(with_dead(law.law, law.dead), with_dead(tilted_law.law, tilted_law.dead), results, counts_of(right, run),
              counts_of(wrong, tilted_run));
}

TEST(TiltedByOnePercent, DrawsUnderDiscFail) {
  const oracle::Model model = two_levels();
  const oracle::Laws laws = laws_of(tilted(model));
  check_disc(model, tilted(model), 0, oracle::disc_law(laws.plain, laws.x, laws.dead, 2), 3 << 14);
}

// One SID is accepted, and taken among the fresh draws, with a probability that is 1 % too low.
TEST(TiltedByOnePercent, AcceptanceOfDiscFails) {
  const oracle::Model model = oracle::theorem_two_one(0.5, 0.5);
  oracle::Laws laws = laws_of(model);
  laws.x[0] *= 0.99;
  const auto tilt = static_cast<float>(std::log(0.99));
  check_disc(model, model, tilt, oracle::disc_law(laws.plain, laws.x, laws.dead, 2), 13 << 13);
}

TEST(TiltedByOnePercent, StochasticBeamsFail) {
  constexpr int64_t kRequests = 3 << 13;  // per seed
  const oracle::Model model = two_levels();
  const std::vector<int64_t> requests = first_numbers(kRequests);
  const Library right = make_library(model), other = make_library(tilted(model));
  const auto counts_of = [&](const Library& library) {
    return [&](int64_t seed) {
      return count_pairs(stochastic_beams(library, seed, requests, 2).draws, model.catalogue.sids.size());
    };
  };
  check_power(without_replacement(laws_of(model).plain), without_replacement(laws_of(tilted(model)).plain), kRequests,
              counts_of(right), counts_of(other));
}

}  // namespace
}  // namespace sampling
