// The oracle's sampling against published numbers and results worked out by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "laws.h"
#include "papers.h"

namespace oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The known answers of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  using Four = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CountsRequestDrawUseAndLevel) {
  const DrawKey key{0x299f31d0a4093822, static_cast<int64_t>(0x85a308d3243f6a88), 0xABCDE13198A2E};
  // draw 0xABCDE13198A2E: the lower 32 bits, and 0xABCDE above use 3 and level 5
  const auto words = philox({0x243f6a88, 0x85a308d3, 0x13198A2E, 0xABCDE305}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(random_bits(key, RandomUse::kNoise, 5), words[0] | uint64_t{words[1]} << 32);
}

std::vector<bool> kept(const std::vector<float>& row, int top_k, double top_p) {
  return truncated(row, {top_k, top_p}).which;
}

TEST(Truncation, KeepsTheLargestAndOfEqualOnesTheEarlier) {
  EXPECT_EQ(kept({1, 3, 2, 3}, 0, 1), (std::vector<bool>{1, 1, 1, 1}));
  EXPECT_EQ(kept({1, 3, 2, 3}, 1, 1), (std::vector<bool>{0, 1, 0, 0}));
  EXPECT_EQ(kept({2, 3, 2, 2}, 2, 1), (std::vector<bool>{1, 1, 0, 0}));
  EXPECT_EQ(kept({2, -kInfinity, 2}, 3, 1), (std::vector<bool>{1, 0, 1}));
}

TEST(Truncation, TopPKeepsTheFewestThatHaveTheMass) {
  const std::vector<float> quarters(4, 0);
  EXPECT_EQ(kept(quarters, 0, 0.5), (std::vector<bool>{1, 1, 0, 0}));  // exactly half is enough
  EXPECT_EQ(kept(quarters, 0, 0.51), (std::vector<bool>{1, 1, 1, 0}));
  EXPECT_EQ(kept(quarters, 0, 1e-9), (std::vector<bool>{1, 0, 0, 0}));
  EXPECT_EQ(kept(quarters, 2, 0.75), (std::vector<bool>{1, 1, 0, 0}));  // of the two that top-k has left
  EXPECT_EQ(truncated(quarters, {0, 0.5}).margin, 0);
  EXPECT_NEAR(truncated(quarters, {0, 0.6}).margin, 0.1, 1e-12);
}

// In order: soccer gloves, used soccer shoes, used shirts.
TEST(Laws, AreThoseOfFigureOne) {
  const Laws laws = enumerate(make_sampler(figure_one()));
  const double p[] = {0.06, 0.324, 0.04}, plain[] = {0.6, 0.36, 0.04}, x[] = {0.1, 0.9, 1};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(laws.p[i], p[i], 1e-7);
    EXPECT_NEAR(laws.plain[i], plain[i], 1e-7);
    EXPECT_NEAR(laws.x[i], x[i], 1e-7);
    EXPECT_NEAR(exact_law(laws)[i], p[i] / 0.424, 1e-6);
  }
  EXPECT_EQ(laws.dead, 0);
}

// K = 1: accepted with 0.424; else plain again, since one draw is all that is resampled.
TEST(Laws, DiscOfOneRoundIsAMixture) {
  const Laws laws = enumerate(make_sampler(figure_one()));
  const DiscLaw disc = disc_law(laws.plain, laws.x, 0, 1);
  EXPECT_NEAR(disc.law[0], 0.06 + 0.576 * 0.6, 1e-6);
  EXPECT_NEAR(disc.law[1], 0.324 + 0.576 * 0.36, 1e-6);
  EXPECT_NEAR(disc.accepted, 0.424, 1e-6);
  EXPECT_NEAR(disc.draws, 1 + 0.576, 1e-6);  // one if accepted, else two
}

TEST(Laws, ResamplingSumsOverAllTuples) {
  const Law law{0.5, 0.2, 0.1}, x{0.1, 0.5, 1, 0};
  const double dead = 0.2;
  Law all = law, expected(4, 0);
  all.push_back(dead);
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 4; ++b)
      for (size_t c = 0; c < 4; ++c) {
        const double weight = all[a] * all[b] * all[c], total = x[a] + x[b] + x[c];
        if (total == 0) expected[3] += weight;
        for (const size_t k : {a, b, c}) expected[k] += total > 0 ? weight * x[k] / total : 0;
      }
  const Law found = resampled_law(law, {0.1, 0.5, 1}, dead, 3);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
}

TEST(Laws, TheBoundIsThatOfTheProof) {
  EXPECT_NEAR(kl_bound(0.5, 2), 0.25 * (std::sqrt(0.5) + 0.25), 1e-15);
  EXPECT_EQ(kl_bound(0, 1), 0);
  EXPECT_NEAR(kl({0.5, 0.5}, {0.25, 0.75}), 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3), 1e-15);
}

// Pairs of {1/2, 1/3, 1/6}: {0,1} has 1/2 (1/3)/(1/2) + 1/3 (1/2)/(2/3) = 7/12, {0,2} 1/6 + 1/10 = 4/15, {1,2} 3/20.
TEST(Laws, TheBetterOfTwoIsOfDifferentSids) {
  const Law law = better_of_two({1.0 / 2, 1.0 / 3, 1.0 / 6}, {0.1, 0.1, 0.3});
  EXPECT_NEAR(law[0], 7.0 / 12, 1e-15);
  EXPECT_NEAR(law[2], 4.0 / 15 + 3.0 / 20, 1e-15);
  EXPECT_EQ(law[1], 0);
}

TEST(Draws, AreTheLawsAndTellHowNearABoundaryIs) {
  const Sampler sampler = make_sampler(figure_one());
  const Laws laws = enumerate(sampler);
  constexpr int kDraws = 20000;
  std::vector<int> counts(3);
  for (int i = 0; i < kDraws; ++i) {
    const Drawn drawn = draw(sampler, {1, 0, i});
    const auto ordinal = static_cast<size_t>(drawn.ordinal);
    ++counts[ordinal];
    EXPECT_NEAR(std::exp(drawn.log_p), laws.p[ordinal], 1e-12);
    EXPECT_NEAR(std::exp(drawn.log_x), laws.x[ordinal], 1e-12);
    EXPECT_LE(drawn.margin, 0.6 + 1e-7);  // from the bound between "soccer" and "used"
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(counts[i], kDraws * laws.plain[i], 5 * std::sqrt(kDraws / 4.0));
}

// The rates of the two first words are 0.6 and 0.4; noise 0.3 and 0.6 make them wait 0.5 and 1.5. The first word that
// arrives does so when the empty prefix does, at 0.2, the other 1 later.
TEST(PerturbedScores, AreThoseOfSidsThatArriveOneByOne) {
  const auto noise = [](const Sid& prefix) {
    return prefix.empty() ? 0.2 : prefix == Sid{0} ? 0.3 : prefix == Sid{1} ? 0.6 : 0.072;
  };
  const Law scores = perturbed_scores(make_sampler(figure_one()), noise);
  EXPECT_NEAR(scores[0], -std::log(0.2), 1e-6);
  EXPECT_NEAR(scores[1], -std::log(1.2), 1e-6);        // soccer after used waits 0.072 / 0.36 = 0.2
  EXPECT_NEAR(scores[2], -std::log(1.2 + 1.6), 1e-5);  // shirts 0.072 / 0.04 = 1.8
}

TEST(PerturbedScores, TheNoiseOfRequestsHasMeanOne) {
  double sum = 0;
  constexpr int kRequests = 20000;
  for (int r = 0; r < kRequests; ++r) sum += noise_of_request(1, r)({0, 3});
  EXPECT_NEAR(sum / kRequests, 1, 5 / std::sqrt(kRequests));
}

}  // namespace
}  // namespace oracle
