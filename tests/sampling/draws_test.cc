// Independent draws: their law, their sums, and that they are the oracle's.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "checks.h"
#include "laws.h"
#include "models.h"
#include "papers.h"

namespace sampling {
namespace {

constexpr int64_t kDraws = 3 << 15, kTruncated = 1 << 12;  // per seed; truncation takes its time

int64_t draws_of(const oracle::Model& model) {
  return model.truncation.top_k > 0 || model.truncation.top_p < 1 ? kTruncated : kDraws;
}

std::vector<oracle::Model> models() {
  return {random_model(1, false), random_model(2, true), oracle::figure_one(),
          truncated(random_model(3, false), 3, 0.9F), deadly_model(4, true)};
}

double fit_of(const oracle::Model& drawn, const oracle::Model& expected) {
  const Library library = make_library(drawn);
  const oracle::Laws laws = oracle::enumerate(oracle::make_sampler(expected));
  return fit(with_dead(laws.plain, laws.dead), [&](int64_t seed) {
    return count(draw_first(library, {seed, 7, 0}, draws_of(drawn)), laws.plain.size());
  });
}

TEST(Draws, FollowTheLawOfPlainConstrainedSampling) {
  for (const oracle::Model& model : models()) EXPECT_GT(fit_of(model, model), kReject);
}

TEST(Draws, TiltedByOnePercentFailAtTheSameNumber) {
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true), oracle::figure_one()})
    EXPECT_LT(fit_of(tilted(model), model), kReject);
}

// Sum of P(a) / x(a): by enumeration, and by what the library returns with the SIDs that it has drawn.
TEST(Draws, PlainProbabilitiesAddUpToThoseThatDoNotDie) {
  for (const oracle::Model& model : models()) {
    const oracle::Laws laws = oracle::enumerate(oracle::make_sampler(model));
    double sum = 0, returned = 0;
    for (size_t i = 0; i < laws.p.size(); ++i) sum += laws.p[i] > 0 ? laws.p[i] / laws.x[i] : 0;
    EXPECT_NEAR(sum, 1 - laws.dead, 1e-12);
    const Draws draws = draw_first(make_library(model), {1, 7, 0}, draws_of(model));
    std::vector<bool> seen(laws.p.size());
    for (size_t m = 0; m < draws.ordinals.size(); ++m) {
      if (draws.ordinals[m] < 0) continue;
      const auto ordinal = static_cast<size_t>(draws.ordinals[m]);
      if (!seen[ordinal]) returned += std::exp(double{draws.log_p[m]} - double{draws.log_x[m]});
      seen[ordinal] = true;
      EXPECT_NEAR(draws.log_p[m], std::log(laws.p[ordinal]), 1e-5);
      EXPECT_NEAR(draws.log_x[m], std::log(laws.x[ordinal]), 1e-5);
    }
    EXPECT_NEAR(returned, 1 - laws.dead, 1e-5);
  }
}

// Where the library draws another SID than the oracle, a boundary must lie within rounding: exp is within 4e-7.
TEST(Draws, AreTheOraclesUnlessABoundaryLiesWithinRounding) {
  constexpr double kRounding = 1e-6;
  constexpr int64_t kCompared = 20000;
  for (const oracle::Model& model : models()) {
    const oracle::Sampler sampler = oracle::make_sampler(model);
    const Draws draws = draw_first(make_library(model), {5, -9, 0}, kCompared);
    int64_t differ = 0, near = 0;
    for (int64_t i = 0; i < kCompared; ++i) {
      const oracle::Drawn expected = oracle::draw(sampler, {5, -9, i});
      const bool close = expected.margin < kRounding, same = draws.ordinals[static_cast<size_t>(i)] == expected.ordinal;
      near += close ? 1 : 0;
      differ += same ? 0 : 1;
      EXPECT_TRUE(same || close) << "draw " << i << ", margin " << expected.margin;
    }
    EXPECT_LE(near, 5);  // expected: 2e-6 per boundary and draw, of which there are at most 9 a draw: 0.36
    EXPECT_LE(differ, near);
  }
}

// Equal weights have no rounding.
TEST(Draws, AreTheOraclesWhereElementsAreEqual) {
  for (const bool variable : {false, true}) {
    const oracle::Model model = flat_model(6, variable);
    const oracle::Sampler sampler = oracle::make_sampler(model);
    const Draws draws = draw_first(make_library(model), {-1, 1LL << 62, 0}, 20000);
    for (int64_t i = 0; i < 20000; ++i)
      ASSERT_EQ(draws.ordinals[static_cast<size_t>(i)], oracle::draw(sampler, {-1, 1LL << 62, i}).ordinal) << i;
  }
}

// Without any exception, since no boundary can lie within rounding. Weights are 2^42 or 0 in the library, exp(0) or 0
// in the oracle. The valid ones and all of a row are powers of two in number, so probabilities, their sums and ratios
// are dyadic numbers of few bits, which float64 has exactly. Of the random bits the oracle keeps the upper 53 without
// rounding: they are below a boundary exactly where all 64 are.
TEST(Draws, AreTheOraclesWhereLogitsAreDyadic) {
  constexpr int64_t kCompared = 256;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const oracle::Model model = dyadic_model(seed);
    const oracle::Sampler sampler = oracle::make_sampler(model);
    const auto own = static_cast<int64_t>(seed);
    const Draws draws = draw_first(make_library(model), {own, -own, 0}, kCompared);
    for (int64_t i = 0; i < kCompared; ++i) {
      const oracle::Drawn expected = oracle::draw(sampler, {own, -own, i});
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(draws.ordinals[at], expected.ordinal) << "draw " << i;
      ASSERT_GE(expected.ordinal, 0);  // every prefix has a likely code
      EXPECT_NEAR(draws.log_p[at], expected.log_p, 1e-6);
      EXPECT_NEAR(draws.log_x[at], expected.log_x, 1e-6);
    }
  }
}

// Of the row after a prefix, the first columns are -inf. With three of four the others have all the mass.
Library make_massless(const oracle::Sid& prefix, int columns) {
  oracle::Model model = two_levels();
  model.row_of = [prefix, columns, row_of = model.row_of](const oracle::Sid& at) {
    std::vector<float> row = row_of(at);
    if (at == prefix) std::fill_n(row.begin(), columns, -HUGE_VALF);
    return row;
  };
  return make_library(model);
}

void expect_dead(const Library& library, const oracle::Sid& prefix) {
  DrawRun run;
  run.prefix = prefix;
  const Draws draws = draw_first(library, {1, 2, 0}, 100, run);
  EXPECT_EQ(draws.live, 0);
  EXPECT_EQ(draws.errors, 0);
  EXPECT_EQ(draws.ordinals, std::vector<int64_t>(100, -1));
}

TEST(Draws, OfACatalogueOrPrefixWithoutMassAreNotLiveAndNoError) {
  for (const int columns : {3, 4}) {
    expect_dead(make_massless({}, columns), {});
    expect_dead(make_massless({0}, columns), {0});
    const Draws draws = draw_first(make_massless({0}, columns), {1, 2, 0}, 100);  // some take the other first code
    EXPECT_TRUE(draws.live > 0 && draws.live < 100) << draws.live;
    EXPECT_EQ(draws.errors, 0);
  }
  expect_dead(make_library(two_levels()), {2});  // no SID begins with it
  expect_dead(make_library(two_levels()), {0, 2});
}

TEST(Draws, WithLargeNumbersAreTheirOwn) {
  const oracle::Model model = random_model(7, false);
  const oracle::Sampler sampler = oracle::make_sampler(model);
  const std::vector<int64_t> numbers{(1LL << 52) - 1, 1LL << 32, 0, (1LL << 32) - 1, 1LL << 51, 5, 5};
  const Draws draws = draw(make_library(model), {1, 2, 0}, numbers);
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(draws.ordinals[i], oracle::draw(sampler, {1, 2, numbers[i]}).ordinal) << numbers[i];
}

}  // namespace
}  // namespace sampling
