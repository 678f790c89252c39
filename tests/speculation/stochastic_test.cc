// Speculative stochastic beams follow the target's own law of draws without replacement, whatever the draft.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "../sampling/statistics.h"
#include "case.h"

namespace speculation {
namespace {

// The chi-square wants some draws of the rarest pair too.
constexpr int64_t kRuns = SIDBEAM_SANITIZED ? 1 << 12 : 1 << 14;

// Six SIDs of two codes, two beams.
Case small_case(Draft draft) {
  Case c;
  c.codes = {3, 4};
  c.sids = {{0, 0}, {0, 1}, {0, 3}, {1, 2}, {2, 0}, {2, 1}};
  c.beams = 2;
  c.width = 4;
  c.mode = SIDBEAM_MODE_STOCHASTIC;
  c.normalization = SIDBEAM_NORMALIZE_VALID;
  c.starts = {{}};
  c.target.seed = c.draft.seed = 4;
  c.target.offsets = c.draft.offsets = {0, 3};
  c.target.columns = c.draft.columns = 7;
  c.draft.kind = draft;
  return c;
}

// The target's probability of each SID, valid codes alone considered.
std::vector<double> law_of(const Case& c) {
  std::vector<double> law;
  for (const Prefix& sid : c.sids) {
    double probability = 1;
    for (size_t l = 0; l < sid.size(); ++l) {
      const Prefix before(sid.begin(), sid.begin() + static_cast<std::ptrdiff_t>(l));
      const std::vector<float> row = c.target.row_of(before);
      const auto weight = [&](int32_t code) {
        return std::exp(double{row[static_cast<size_t>(c.target.offsets[l] + code)]});
      };
      std::map<int32_t, double> valid;
      for (const Prefix& other : c.sids)
        if (std::equal(before.begin(), before.end(), other.begin())) valid[other[l]] = weight(other[l]);
      double sum = 0;
      for (const auto& [code, one] : valid) sum += one;
      probability *= weight(sid[l]) / sum;
    }
    law.push_back(probability);
  }
  return law;
}

TEST(StochasticSpeculation, FollowsTheTargetsLawWithoutReplacement) {
  for (const Draft draft : {Draft::kNear, Draft::kInverted, Draft::kGarbage}) {
    Case c = small_case(draft);
    const std::vector<double> law = law_of(c);
    const size_t n = law.size();
    EXPECT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-9);
    std::vector<double> pairs, included(n);
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) {
        pairs.push_back(a == b ? 0 : law[a] * law[b] / (1 - law[a]));
        included[a] += pairs.back();
        included[b] += pairs.back();
      }
    }
    const World world = make_world(c);
    std::vector<int64_t> counts(n * n), of_sid(n);
    for (int64_t run = 0; run < kRuns; ++run) {
      c.seeds = {static_cast<int64_t>(draft)};
      c.requests = {run};
      sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
      const Result found = speculative(c, world, stats);
      const auto a = static_cast<size_t>(found.ordinals[0]), b = static_cast<size_t>(found.ordinals[1]);
      ++counts[a * n + b];
      ++of_sid[a];
      ++of_sid[b];
    }
    EXPECT_GT(sampling::chi_square(counts, pairs), 1e-5) << "draft " << static_cast<int>(draft);
    for (size_t a = 0; a < n; ++a) {
      const double deviation = std::sqrt(included[a] * (1 - included[a]) / kRuns);
      EXPECT_NEAR(static_cast<double>(of_sid[a]) / kRuns, included[a], 4.5 * deviation) << "SID " << a;
    }
  }
}

// Shared noise is what makes drafts useful: a near draft saves calls of the target.
TEST(StochasticSpeculation, SavesCallsWhereTheDraftIsNear) {
  int64_t accepted[2] = {0, 0};
  for (const bool near : {false, true}) {
    Case c = small_case(near ? Draft::kNear : Draft::kInverted);
    c.width = 2;
    const World world = make_world(c);
    for (int64_t run = 0; run < 500; ++run) {
      c.seeds = {7};
      c.requests = {run};
      sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
      (void)speculative(c, world, stats);
      accepted[near ? 1 : 0] += stats.accepted_levels;
    }
  }
  EXPECT_GT(accepted[1], 2 * accepted[0]);
  EXPECT_GT(accepted[1], 400);
}

}  // namespace
}  // namespace speculation
