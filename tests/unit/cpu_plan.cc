// Which path and which normaliser a slot's rows take, by strategy, normalisation, level and columns.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/plan.h"

#include <gtest/gtest.h>

namespace sidbeam::cpu {
namespace {

// Three levels of 8 codes: all nodes of the first are dense, one of ten of the second; the third is of one child each.
IndexView three_levels() {
  IndexView index;
  index.levels = index.csr_levels = 3;
  index.has_trie = index.has_columns = true;
  const uint64_t nodes[] = {1, 10, 40}, edges[] = {8, 40, 40}, dense[] = {1, 1, 0};
  for (int l = 0; l < 3; ++l) {
    index.level[l].codes = 8;
    index.level[l].nodes = nodes[l];
    index.level[l].edges = edges[l];
    index.level[l].dense_nodes = dense[l];
  }
  return index;
}

struct Asked {
  int32_t strategy = SIDBEAM_STRATEGY_TRIE, level = 2, normalization = SIDBEAM_NORMALIZE_FULL;
  bool lse = false, mapped = false, transformed = false;
};

SlotPlan plan_of(const IndexView& index, const Asked& asked) {
  static const int32_t map[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  SlotPlan plan;
  plan.index = &index;
  plan.level = asked.level;
  plan.strategy = asked.strategy;
  plan.column_count = 8;
  if (asked.mapped) plan.columns.map = map;
  if (asked.transformed) plan.elements.soft_cap = 30.0F;
  decide(plan, asked.normalization, asked.lse);
  return plan;
}

TEST(CpuPlan, TriesFollowChainsWhereAnElementIsAllThatAChildNeeds) {
  const IndexView index = three_levels();
  EXPECT_EQ(plan_of(index, {}).path, Path::kChains);
  EXPECT_EQ(plan_of(index, {.level = 1}).path, Path::kChains);
  EXPECT_EQ(plan_of(index, {.lse = true}).path, Path::kChains);
  EXPECT_EQ(plan_of(index, {.level = 0}).path, Path::kNodes);  // all dense
  EXPECT_EQ(plan_of(index, {.mapped = true}).path, Path::kNodes);
  EXPECT_EQ(plan_of(index, {.transformed = true}).path, Path::kNodes);
  EXPECT_EQ(plan_of(index, {.normalization = SIDBEAM_NORMALIZE_VALID}).path, Path::kNodes);
}

TEST(CpuPlan, TailsAreWalkedByTheirRuns) {
  IndexView index = three_levels();
  index.csr_levels = 2;
  EXPECT_EQ(plan_of(index, {}).path, Path::kChains);
  EXPECT_TRUE(plan_of(index, {}).in_tail());
  EXPECT_EQ(plan_of(index, {.transformed = true}).path, Path::kTail);
}

TEST(CpuPlan, OtherStrategiesHaveAPathEach) {
  const IndexView index = three_levels();
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_SORTED}).path, Path::kRanges);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_SORTED, .level = 0}).path, Path::kAllCodes);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_SORTED, .level = 0, .lse = true}).path, Path::kRanges);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_SORTED_TOPK, .level = 0}).path, Path::kProbes);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_HASH_FINAL, .level = 1}).path, Path::kAllCodes);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_HASH_FINAL}).path, Path::kProbes);
  EXPECT_EQ(plan_of(index, {.strategy = SIDBEAM_STRATEGY_NONE}).path, Path::kAllCodes);
}

TEST(CpuPlan, NormalisersAreSummedAheadWhereTheyLieInPlace) {
  const IndexView index = three_levels();
  constexpr int32_t kLevel = SIDBEAM_NORMALIZE_LEVEL;
  EXPECT_EQ(plan_of(index, {}).normalizer, Normalizer::kAhead);
  EXPECT_EQ(plan_of(index, {.mapped = true}).normalizer, Normalizer::kAhead);  // over the row, wherever codes are
  EXPECT_EQ(plan_of(index, {.normalization = kLevel}).normalizer, Normalizer::kAhead);
  EXPECT_EQ(plan_of(index, {.normalization = kLevel, .mapped = true}).normalizer, Normalizer::kByRow);
  EXPECT_EQ(plan_of(index, {.transformed = true}).normalizer, Normalizer::kByRow);
  EXPECT_EQ(plan_of(index, {.lse = true}).normalizer, Normalizer::kGiven);
  EXPECT_EQ(plan_of(index, {.normalization = SIDBEAM_NORMALIZE_NONE}).normalizer, Normalizer::kGiven);
  EXPECT_EQ(plan_of(index, {.normalization = SIDBEAM_NORMALIZE_VALID}).normalizer, Normalizer::kChildren);
  EXPECT_EQ(plan_of(index, {.normalization = SIDBEAM_NORMALIZE_VALID, .lse = true}).normalizer, Normalizer::kGiven);
}

TEST(CpuPlan, MaximaAreKeptWhereDenseNodesReadThem) {
  const IndexView index = three_levels();
  EXPECT_TRUE(plan_of(index, {.level = 1}).keeps_maxima);
  EXPECT_FALSE(plan_of(index, {}).keeps_maxima);
  EXPECT_TRUE(plan_of(index, {.strategy = SIDBEAM_STRATEGY_NONE}).keeps_maxima);
}

}  // namespace
}  // namespace sidbeam::cpu
