// The oracle against results worked out by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "oracle.h"

namespace oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The umbrella header's three items of two codes each, given out of order.
Catalogue three_items() { return make_catalogue({4, 4}, false, {{{2, 2}, 12}, {{0, 1}, 10}, {{0, 3}, 11}}); }

Rules plain(Normalization normalization) {
  Rules rules;
  rules.normalization = normalization;
  rules.columns = {{0, 1, 2, 3}, {0, 1, 2, 3}};
  return rules;
}

std::vector<int> codes_of(const std::vector<Candidate>& candidates) {
  std::vector<int> codes;
  for (const Candidate& candidate : candidates) codes.push_back(candidate.code);
  return codes;
}

TEST(Catalogue, SortsCodeByCodeWithTheEndAfterEveryCode) {
  const Catalogue c = make_catalogue({3, 3}, true, {{{1}}, {{1, 2}}, {{0}}, {{1, 0}}, {{1}}});
  EXPECT_EQ(c.sids, (std::vector<Sid>{{0}, {1, 0}, {1, 2}, {1}}));
  EXPECT_EQ(ordinal_of(c, {1}), 3);
  EXPECT_EQ(ordinal_of(c, {2}), -1);
  EXPECT_EQ(children(c, {}), (std::vector<int>{0, 1}));
  EXPECT_EQ(children(c, {1}), (std::vector<int>{0, 2, 3}));  // 3 is the end
  EXPECT_EQ(children(c, {1, 2}), (std::vector<int>{}));
}

TEST(Catalogue, ItemsOfASidFollowPriorityThenId) {
  const Catalogue c = make_catalogue({2}, false, {{{1}, 7, 0}, {{1}, -3, 0}, {{1}, 9, 5}, {{1}, 7, 0}});
  EXPECT_EQ(c.items, (std::vector<std::vector<int64_t>>{{9, -3, 7}}));
}

// SIDs 0 and 1 have items 7 5 and 5 8 7, as rows 0 1 and 2 3 4.
TEST(Catalogue, DistinctItemsGoToTheFirstSidThatHasThem) {
  const Catalogue c = make_catalogue({2}, false, {{{0}, 7, 1}, {{0}, 5, 0}, {{1}, 5, 2}, {{1}, 8, 1}, {{1}, 7, 0}});
  using Rows = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(item_lists(c, {1, -1, 0}, 0, 0, false).rows, (Rows{{2, 3, 4}, {}, {0, 1}}));
  EXPECT_EQ(item_lists(c, {0, 1, 0}, 0, 0, true).rows, (Rows{{0, 1}, {3}, {}}));
  EXPECT_EQ(item_lists(c, {1, 0}, 0, 3, true).rows, (Rows{{2, 3, 4}, {}}));
  EXPECT_FALSE(item_lists(c, {1, 0}, 0, 3, true).truncated);
  const ItemLists cut = item_lists(c, {1, 0}, 2, 0, true);  // 7, cut from the first, is not the second's
  EXPECT_EQ(cut.rows, (Rows{{2, 3}, {}}));
  EXPECT_TRUE(cut.truncated);
}

// The same items; rows 0 and 3 have the value 1, row 2 the values 1 and 2, row 4 the value 2, row 1 none.
TEST(Catalogue, ACapLeavesOutWhatItsValuesHaveEnoughOf) {
  const Catalogue c = make_catalogue({2}, false, {{{0}, 7, 1}, {{0}, 5, 0}, {{1}, 5, 2}, {{1}, 8, 1}, {{1}, 7, 0}});
  using Rows = std::vector<std::vector<int64_t>>;
  const Cap one{1, {{1}, {}, {1, 2}, {1}, {2}}}, two{2, one.values};
  EXPECT_EQ(item_lists(c, {0, 1}, 0, 0, false, one).rows, (Rows{{0, 1}, {4}}));  // row 2 is left out for its 1
  EXPECT_EQ(item_lists(c, {1, 0}, 0, 0, false, one).rows, (Rows{{2}, {1}}));
  EXPECT_EQ(item_lists(c, {0, 1}, 0, 0, false, two).rows, (Rows{{0, 1}, {2, 4}}));
  EXPECT_EQ(item_lists(c, {0, 1}, 0, 0, true, one).rows, (Rows{{0, 1}, {}}));  // row 4 is item 7 again
  EXPECT_TRUE(item_lists(c, {0, 1}, 0, 0, false, one).came_short);
  EXPECT_TRUE(item_lists(c, {0, 1}, 0, 4, false, one).came_short);
  EXPECT_FALSE(item_lists(c, {0, 1}, 0, 3, false, one).came_short);
  const ItemLists cut = item_lists(c, {1}, 1, 0, false, two);  // row 3, cut, counts for nothing
  EXPECT_EQ(cut.rows, (Rows{{2}}));
  EXPECT_TRUE(cut.truncated);
  EXPECT_FALSE(cut.came_short);
  EXPECT_FALSE(item_lists(c, {1, 0}, 1, 0, false, one).truncated);
}

// Root row {3, 9, 2, 1}, codes 0 and 2 valid. ln(e^3 + e^9 + e^2 + e^1) = 9 + ln(1 + e^-6 + e^-7 + e^-8)
// = 9 + ln(1.0037261) = 9.0037192.
TEST(Step, FullNormalisesOverTheRowAndKeepsTheValid) {
  const auto outcome =
      step(three_items(), plain(Normalization::kFull), 0, {{{}, false, 0}}, {{{3, 9, 2, 1}, std::nullopt}});
  ASSERT_EQ(codes_of(outcome.candidates), (std::vector<int>{0, 2}));
  EXPECT_NEAR(outcome.candidates[0].log_prob, 3 - 9.0037192, 1e-7);
  EXPECT_NEAR(outcome.candidates[1].score, 2 - 9.0037192, 1e-7);
}

// Over the valid alone: ln(e^3 + e^2) = 3 + ln(1 + e^-1) = 3.3132617.
TEST(Step, ValidNormalisesOverTheChildren) {
  const auto outcome =
      step(three_items(), plain(Normalization::kValid), 0, {{{}, false, 0}}, {{{3, 9, 2, 1}, std::nullopt}});
  EXPECT_NEAR(outcome.candidates[0].log_prob, -0.3132617, 1e-7);
  EXPECT_NEAR(outcome.candidates[1].log_prob, -1.3132617, 1e-7);
}

// Of the six columns, `level` sees four: four equal logits give ln 4 = 1.3862944. With the end: ln 5 = 1.6094379.
TEST(Step, LevelNormalisesOverTheCodesAndTheEnd) {
  Rules rules = plain(Normalization::kLevel);
  rules.columns = {{1, 2, 3, 4}, {1, 2, 3, 4}};
  const Row row{{50, 0, 0, 0, 0, 0}, std::nullopt};
  EXPECT_NEAR(step(three_items(), rules, 0, {{}}, {row}).candidates[0].log_prob, -1.3862944, 1e-7);
  rules.end_column = 5;
  const Catalogue variable = make_catalogue({4, 4}, true, {{{0, 1}}});
  EXPECT_NEAR(step(variable, rules, 0, {{}}, {row}).candidates[0].log_prob, -1.6094379, 1e-7);
}

TEST(Step, TiesGoToTheLowerParentThenTheLowerCode) {
  const std::vector<Beam> beams{{{2}, false, -1}, {{0}, false, -1}};
  const Row row{{-1, -1, -1, -1}, std::nullopt};
  const auto outcome = step(three_items(), plain(Normalization::kNone), 1, beams, {row, row});
  const auto kept = best(outcome.candidates, 2);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].parent, 0);
  EXPECT_EQ(kept[0].code, 2);
  EXPECT_EQ(kept[1].parent, 1);
  EXPECT_EQ(kept[1].code, 1);
  EXPECT_EQ(kept[1].score32, -2);
}

TEST(Step, MaskedChildrenAreNoCandidatesAndAMaskedRowIsNoError) {
  Rules rules = plain(Normalization::kFull);
  auto outcome = step(three_items(), rules, 0, {{}}, {{{-kInfinity, 0, 1, 0}, std::nullopt}});
  EXPECT_EQ(codes_of(outcome.candidates), (std::vector<int>{2}));
  outcome = step(three_items(), rules, 0, {{}}, {{std::vector<float>(4, -kInfinity), std::nullopt}});
  EXPECT_TRUE(outcome.candidates.empty());
  EXPECT_TRUE(outcome.bad_rows.empty());
}

TEST(Step, ABadRowIsOneWhoseNormaliserReadsNanOrInfinity) {
  const Row nan_beside_children{{0, std::nanf(""), 0, 0}, std::nullopt};
  EXPECT_EQ(step(three_items(), plain(Normalization::kFull), 0, {{}}, {nan_beside_children}).bad_rows.size(), 1u);
  EXPECT_EQ(step(three_items(), plain(Normalization::kLevel), 0, {{}}, {nan_beside_children}).bad_rows.size(), 1u);
  EXPECT_EQ(step(three_items(), plain(Normalization::kValid), 0, {{}}, {nan_beside_children}).bad_rows.size(), 0u);
  EXPECT_EQ(step(three_items(), plain(Normalization::kNone), 0, {{}}, {nan_beside_children}).bad_rows.size(), 0u);
  const Row given{{0, std::nanf(""), 0, 0}, 1.0f};
  EXPECT_EQ(step(three_items(), plain(Normalization::kFull), 0, {{}}, {given}).bad_rows.size(), 0u);
  const Row infinite{{0, 0, kInfinity, 0}, 1.0f};
  EXPECT_EQ(step(three_items(), plain(Normalization::kFull), 0, {{}}, {infinite}).bad_rows.size(), 1u);
}

TEST(Step, ABadNormaliserOfTheCallersIsToldFromABadRow) {
  for (const float lse : {kInfinity, std::nanf("")}) {
    const auto outcome = step(three_items(), plain(Normalization::kFull), 0, {{}}, {{{0, 0, kInfinity, 0}, lse}});
    EXPECT_EQ(outcome.bad_lses, (std::vector<int>{0}));
    EXPECT_TRUE(outcome.bad_rows.empty());  // not looked at
    EXPECT_TRUE(outcome.candidates.empty());
  }
  const auto none = step(three_items(), plain(Normalization::kFull), 0, {{}}, {{{0, 0, kInfinity, 0}, -kInfinity}});
  EXPECT_TRUE(none.bad_lses.empty() && none.bad_rows.empty() && none.candidates.empty());
}

TEST(Step, AScoreAboveTheRangeMakesTheRowBadAndOneBelowIsNoCandidate) {
  const float huge = std::numeric_limits<float>::max();
  auto outcome = step(three_items(), plain(Normalization::kNone), 0, {{{}, false, huge}}, {{{huge, 0, 0, 0}, {}}});
  EXPECT_EQ(outcome.bad_rows.size(), 1u);
  outcome = step(three_items(), plain(Normalization::kNone), 0, {{{}, false, -huge}}, {{{-huge, 0, 0, 0}, {}}});
  EXPECT_EQ(codes_of(outcome.candidates), (std::vector<int>{2}));
}

TEST(Step, AGivenNormaliserIsSubtractedInF32AndNeverClamped) {
  const auto outcome =
      step(three_items(), plain(Normalization::kFull), 0, {{}}, {{{16777216, 0, 5, 0}, std::optional<float>(-1)}});
  EXPECT_EQ(outcome.candidates[0].score32, 16777216.0f);  // 2^24 + 1 rounds to 2^24
  EXPECT_EQ(outcome.candidates[1].score32, 6.0f);
}

TEST(Step, AnEndedBeamCompetesUnchangedAndItsRowIsNotRead) {
  const Catalogue c = make_catalogue({2, 2}, true, {{{0}}, {{1, 1}}});
  Rules rules = plain(Normalization::kNone);
  rules.columns = {{0, 1}, {0, 1}};
  rules.end_column = 2;
  const auto end = step(c, rules, 1, {{{0}, false, -1}}, {{{9, 9, -0.5f}, std::nullopt}});
  ASSERT_EQ(codes_of(end.candidates), (std::vector<int>{2}));
  const Beam ended = continued(c, {{{0}, false, -1}}, 0, 2, -1.5f);
  EXPECT_TRUE(ended.ended);
  EXPECT_EQ(ended.prefix, (Sid{0}));
  const auto later = step(c, rules, 1, {{{1}, false, -1}, ended}, {{{0, -3, 0}, {}}, {{}, {}}});
  const auto kept = best(later.candidates, 5);
  EXPECT_EQ(codes_of(kept), (std::vector<int>{-1, 1}));
  EXPECT_EQ(kept[0].parent, 1);
  EXPECT_EQ(kept[0].score32, -1.5f);
}

// Row {3, 9, 2, 1}: the two best codes are 1 and 0, of which 0 is valid; normalised over it alone its log-prob is 0.
TEST(Step, SortedTopkLooksUpTheBestCodesOnly) {
  Rules rules = plain(Normalization::kValid);
  rules.strategy = Strategy::kSortedTopk;
  rules.top_k = 2;
  const auto outcome = step(three_items(), rules, 0, {{}}, {{{3, 9, 2, 1}, std::nullopt}});
  ASSERT_EQ(codes_of(outcome.candidates), (std::vector<int>{0}));
  EXPECT_EQ(outcome.candidates[0].log_prob, 0);
}

TEST(Step, HashFinalIsUnconstrainedUntilTheLastLevel) {
  Rules rules = plain(Normalization::kNone);
  rules.strategy = Strategy::kHashFinal;
  rules.top_k = 2;
  EXPECT_EQ(codes_of(step(three_items(), rules, 0, {{}}, {{{0, 0, 0, 0}, {}}}).candidates),
            (std::vector<int>{0, 1, 2, 3}));
  // Equal logits: codes 0 and 1 are looked up, and after 0 only 1 completes a SID; after 3 nothing does.
  const auto last =
      step(three_items(), rules, 1, {{{0}, false, 0}, {{3}, false, 0}}, {{{0, 0, 0, 0}, {}}, {{0, 0, 0, 0}, {}}});
  EXPECT_EQ(codes_of(last.candidates), (std::vector<int>{1}));
}

TEST(Step, SoftCapThenTemperature) {
  EXPECT_NEAR(transformed(30, 30, 2), 60 * std::tanh(1.0), 1e-5);
  EXPECT_EQ(transformed(-kInfinity, 30, 2), -kInfinity);
  EXPECT_EQ(transformed(1e30f, 0, 1e30f), kInfinity);
  EXPECT_EQ(transformed(3, 0, 0), 3);
}

TEST(Error, OnlyABadRowThatCouldHaveMatteredIsAnError) {
  const std::vector<Beam> beams{{{0}, false, -1}, {{2}, false, -3}};
  const std::vector<int> bad{1};
  EXPECT_TRUE(in_error(bad, beams, 1, -2, 2));   // fewer than the width are kept
  EXPECT_FALSE(in_error(bad, beams, 2, -2, 2));  // scored below the last kept
  EXPECT_TRUE(in_error(bad, beams, 2, -3, 2));   // as well as the last kept
}

TEST(Numbers, F16AndBf16RoundToNearestEven) {
  EXPECT_EQ(encode(Dtype::kF16, 1.0f), 0x3c00u);
  EXPECT_EQ(encode(Dtype::kF16, -2.0f), 0xc000u);
  EXPECT_EQ(encode(Dtype::kF16, 65504.0f), 0x7bffu);
  EXPECT_EQ(encode(Dtype::kF16, 65520.0f), 0x7c00u);
  EXPECT_EQ(encode(Dtype::kF16, std::ldexp(1.0f, -24)), 1u);
  EXPECT_EQ(encode(Dtype::kF16, 2049.0f), encode(Dtype::kF16, 2048.0f));  // a tie, to even
  EXPECT_EQ(encode(Dtype::kF16, 2051.0f), encode(Dtype::kF16, 2052.0f));
  EXPECT_EQ(encode(Dtype::kBf16, 1.0f), 0x3f80u);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f16 = decode(Dtype::kF16, bits), bf16 = decode(Dtype::kBf16, bits);
    EXPECT_TRUE(std::isnan(f16) || encode(Dtype::kF16, f16) == bits) << bits;
    EXPECT_TRUE(std::isnan(bf16) || encode(Dtype::kBf16, bf16) == bits) << bits;
  }
}

}  // namespace
}  // namespace oracle
