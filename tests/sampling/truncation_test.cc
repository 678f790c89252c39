// Top-k and top-p before the mask: what they keep, with ties at the boundary, and draws that they leave nothing.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "checks.h"
#include "laws.h"
#include "models.h"

namespace sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kDraws = 512;

// One level of `row.size()` codes, of which `valid` are in the catalogue.
oracle::Model one_level(const std::vector<float>& row, const std::vector<int>& valid, int top_k, float top_p) {
  oracle::Model model;
  std::vector<oracle::Pair> pairs;
  for (const int code : valid) pairs.push_back({{code}, code, 0});
  model.catalogue = oracle::make_catalogue({static_cast<int>(row.size())}, false, pairs);
  model.rules.columns.emplace_back();
  for (int code = 0; code < static_cast<int>(row.size()); ++code) model.rules.columns[0].push_back(code);
  model.row_of = [row](const oracle::Sid&) { return row; };
  return truncated(model, top_k, top_p);
}

// Draws are the oracle's, draw for draw, with its log P and log x. Returns how often each ordinal came, the dead last.
std::vector<int64_t> check_draws(const oracle::Model& model) {
  const oracle::Sampler sampler = oracle::make_sampler(model);
  const Draws draws = draw_first(make_library(model), {3, 4, 0}, kDraws);
  for (int64_t i = 0; i < kDraws; ++i) {
    const auto m = static_cast<size_t>(i);
    const oracle::Drawn expected = oracle::draw(sampler, {3, 4, i});
    EXPECT_EQ(draws.ordinals[m], expected.ordinal) << i;
    if (expected.ordinal < 0 || draws.ordinals[m] != expected.ordinal) continue;
    EXPECT_NEAR(draws.log_p[m], expected.log_p, 2e-6) << i;
    EXPECT_NEAR(draws.log_x[m], expected.log_x, 2e-6) << i;
  }
  return count(draws, model.catalogue.sids.size());
}

std::vector<int> all_of(const std::vector<float>& row) {
  std::vector<int> codes(row.size());
  for (size_t i = 0; i < row.size(); ++i) codes[i] = static_cast<int>(i);
  return codes;
}

// The codes that are drawn at all, of those that are valid.
std::vector<int> drawn_codes(const oracle::Model& model) {
  const std::vector<int64_t> counts = check_draws(model);
  std::vector<int> codes;
  for (size_t i = 0; i + 1 < counts.size(); ++i)
    if (counts[i] > 0) codes.push_back(model.catalogue.sids[i][0]);
  return codes;
}

TEST(Truncation, TopKKeepsTheLargestAndOfEqualOnesTheLowerColumn) {
  const std::vector<float> row{1, 2, 1, 1, 0.5F, 1};
  const std::vector<int> expected[] = {{1}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 5}, {0, 1, 2, 3, 4, 5}};
  for (int k = 1; k <= 6; ++k)
    EXPECT_EQ(drawn_codes(one_level(row, all_of(row), k, 1)), expected[k - 1]) << "top-k " << k;
  EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 100, 1)), expected[5]);
}

TEST(Truncation, TopPKeepsTheFewestWithTheMassAndOfEqualOnesTheLowerColumn) {
  const std::vector<float> row(8, 0.25F);  // an eighth each, without rounding
  for (int kept = 1; kept <= 8; ++kept) {
    const auto p = static_cast<float>(kept) / 8;
    std::vector<int> expected = all_of(std::vector<float>(static_cast<size_t>(kept)));
    EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 0, p)), expected) << "top-p " << p;
    EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 0, p - 0.01F)), expected) << "top-p " << p - 0.01F;
  }
}

TEST(Truncation, TopPIsOfWhatTopKLeaves) {
  const std::vector<float> row(8, 0.25F);
  EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 4, 0.5F)), (std::vector<int>{0, 1}));
  EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 4, 0.75F)), (std::vector<int>{0, 1, 2}));
}

TEST(Truncation, KOfOneIsTheBestColumnWithLogPOfZero) {
  const std::vector<float> row{0, 3, 3, -1};
  const Draws draws = draw_first(make_library(one_level(row, {0, 1}, 1, 1)), {1, 1, 0}, 16);
  for (size_t m = 0; m < 16; ++m) {
    EXPECT_EQ(draws.ordinals[m], 1);
    EXPECT_EQ(draws.log_p[m], 0);
    EXPECT_EQ(draws.log_x[m], 0);
  }
}

TEST(Truncation, POfOneAndAKOfAllColumnsAreNone) {
  const oracle::Model model = random_model(11, false);
  DrawRun without;
  without.without_arrays = true;
  const Draws plain = draw_first(make_library(model), {1, 1, 0}, kDraws, without);
  for (const int top_k : {0, 6, 1 << 30}) {
    const Draws draws = draw_first(make_library(truncated(model, top_k, 1)), {1, 1, 0}, kDraws);
    EXPECT_EQ(draws.ordinals, plain.ordinals) << "top-k " << top_k;
    if (top_k > 0) continue;  // a truncated row's normalizer may round otherwise
    EXPECT_EQ(draws.log_p, plain.log_p);
    EXPECT_EQ(draws.log_x, plain.log_x);
  }
}

// A draw that no valid code is left for is dead, which is no error; with others it lives.
TEST(Truncation, AllMaskedIsADeadDraw) {
  const std::vector<float> row{5, 4, 1, 0};
  EXPECT_EQ(check_draws(one_level(row, {2, 3}, 2, 1)), (std::vector<int64_t>{0, 0, kDraws}));
  EXPECT_EQ(check_draws(one_level(row, {2, 3}, 0, 0.5F)), (std::vector<int64_t>{0, 0, kDraws}));
  EXPECT_EQ(check_draws(one_level(row, {2, 3}, 3, 1)), (std::vector<int64_t>{kDraws, 0, 0}));
  EXPECT_EQ(check_draws(one_level({5, -kInfinity}, {1}, 0, 1)), (std::vector<int64_t>{0, kDraws}));
}

TEST(Truncation, ElementsOfMinusInfinityAreNoPartOfTheRow) {
  const std::vector<float> row{-kInfinity, 0, -kInfinity, 0, 0};
  EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 4, 1)), (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(drawn_codes(one_level(row, all_of(row), 2, 1)), (std::vector<int>{1, 3}));
}

// With LEVEL the row is the level's codes in their order, whatever their columns, and the end last.
TEST(Truncation, WithLevelTiesGoToTheLowerCodeAndTheEndLast) {
  oracle::Model model;
  model.catalogue = oracle::make_catalogue({3, 3}, true, {{{0}, 1}, {{0, 0}, 2}, {{0, 1}, 3}, {{0, 2}, 4}});
  model.rules.normalization = oracle::Normalization::kLevel;
  model.rules.columns = {{1, 2, 3}, {5, 4, 3}};
  model.rules.end_column = 0;
  model.row_of = [](const oracle::Sid& prefix) {
    return prefix.empty() ? std::vector<float>{0, 9, 0, 0, 0, 0, 9} : std::vector<float>{1, 9, 9, 1, 1, 1, 9};
  };
  // In order: (0,0), (0,1), (0,2), (0).
  EXPECT_EQ(check_draws(truncated(model, 1, 1)), (std::vector<int64_t>{kDraws, 0, 0, 0, 0}));
  const std::vector<int64_t> three = check_draws(truncated(model, 3, 1));
  EXPECT_TRUE(three[0] > 0 && three[1] > 0 && three[2] > 0 && three[3] == 0);
  EXPECT_GT(check_draws(truncated(model, 4, 1))[3], 0);
}

TEST(Truncation, OfRandomRowsIsTheOracles) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    oracle::Model model = random_model(seed, seed % 2 == 0);
    for (const auto& normalization : {oracle::Normalization::kFull, oracle::Normalization::kLevel}) {
      model.rules.normalization = normalization;
      model.rules.inverse_temperature = seed % 3 == 0 ? 1 : 0.5F * static_cast<float>(seed);
      check_draws(truncated(model, static_cast<int>(seed % 6), 1));
      check_draws(truncated(model, 0, 0.1F + 0.07F * static_cast<float>(seed)));
      check_draws(truncated(model, 5, 0.9F));
    }
  }
}

}  // namespace
}  // namespace sampling
