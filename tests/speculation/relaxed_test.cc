// Relaxed verification follows the laws that enumeration gives: with replacement p itself, in the released form another
// one, whose distance from the target's is printed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "../sampling/statistics.h"
#include "laws.h"
#include "relaxed.h"

namespace speculation {
namespace {

using sampling::chi_square;

constexpr int64_t kRuns = SIDBEAM_SANITIZED ? 1 << 10 : 1 << 16;
constexpr double kReject = 1e-5;  // of some forty tests with fixed seeds

// An inverse temperature other than 1, below it or above it in turns.
float other_temperature(int64_t seed) { return seed % 2 == 0 ? 0.5F : 2.5F; }

// Lists whose laws are worth comparing: a near draft, a far one, one that lacks what the target has, and back.
std::vector<Lists> some_lists() {
  const float none = -INFINITY;
  return {{{0, -1, -2, -0.5F}, {-0.2F, -1, -1.5F, -0.6F}},
          {{0, -3, -3, -1}, {-3, 0, -1, -3}},
          {{0, -1, -1, -2}, {0, none, -1, none}},
          {{0, none, -1, none}, {0, -1, -1, -2}},
          {{-1, -1, -1, -1, -1}, {0, -0.5F, -1, -1.5F, -2}}};
}

// Counts ordered outcomes, as Law numbers them.
std::vector<int64_t> counts_of(const Lists& lists, const Form& form, int64_t seed) {
  const size_t n = lists.target.size();
  std::vector<int64_t> counts(outcomes(n, form.beams));
  for (int64_t run = 0; run < kRuns; ++run) ++counts[outcome_of(n, relaxed(lists, form, {seed, run, 3}).extensions)];
  return counts;
}

TEST(RelaxedSpeculation, WithReplacementDrawsFromTheTargetExactly) {
  int64_t seed = 1;
  for (const Lists& lists : some_lists()) {
    for (const float inverse_temperature : {1.0F, other_temperature(seed / 2)}) {
      const Form form{2, 2, false, inverse_temperature};
      const Law enumerated = law_with_replacement(lists, form), wanted = independent_draws(lists, form);
      EXPECT_LT(distance(enumerated, wanted), 1e-12) << "the method's own law is the target's";
      EXPECT_GT(chi_square(counts_of(lists, form, ++seed), wanted), kReject) << "seed " << seed;
    }
  }
}

TEST(RelaxedSpeculation, TheReleasedFormFollowsItsEnumeratedLaw) {
  int64_t seed = 100;
  for (const Lists& lists : some_lists()) {
    for (const int32_t drafts : {2, 3}) {
      const Form form{2, drafts, true};
      const Law law = law_without_replacement(lists, form), target = draws_without_replacement(lists, form);
      EXPECT_GT(chi_square(counts_of(lists, form, ++seed), law), kReject) << "seed " << seed;
      std::printf("K = %d, N = %d: total variation from the target's law without replacement %.4f, of sets %.4f\n",
                  form.beams, form.drafts, distance(law, target),
                  distance(as_sets(lists.target.size(), law), as_sets(lists.target.size(), target)));
    }
  }
}

TEST(RelaxedSpeculation, TheReleasedFormFollowsItsLawAtOtherTemperatures) {
  int64_t seed = 200;
  for (const Lists& lists : some_lists()) {
    const Form form{2, 3, true, other_temperature(++seed)};
    EXPECT_GT(chi_square(counts_of(lists, form, seed), law_without_replacement(lists, form)), kReject)
        << "seed " << seed;
  }
}

TEST(RelaxedSpeculation, DrawsFollowTheirDistributionAndItsTemperature) {
  const std::vector<float> log_probs = {0, -1, -2, -INFINITY, -0.5F};
  for (const float inverse_temperature : {1.0F, 0.25F, 3.0F}) {
    const std::vector<double> p = probabilities(log_probs, inverse_temperature);
    std::vector<int64_t> counts(p.size());
    for (int64_t run = 0; run < kRuns / 16; ++run)
      for (const int64_t i : drawn(log_probs, {1, 16, false, inverse_temperature}, {5, run, 0}))
        ++counts[static_cast<size_t>(i)];
    EXPECT_GT(chi_square(counts, p), kReject) << inverse_temperature;
  }
}

// min(K, extensions of the target) different ones, whatever the lists; all of them drafts where the level goes on.
TEST(RelaxedSpeculation, WithoutReplacementGivesDifferentExtensions) {
  std::mt19937_64 engine(7);
  const auto in = [&](int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(engine); };
  int64_t went_on = 0;
  for (int64_t run = 0; run < kRuns / 8; ++run) {
    Lists lists;
    const int32_t n = in(1, 12);
    int64_t valid = 0;
    for (int32_t i = 0; i < n; ++i) {
      const float scale = in(0, 1) == 0 ? 1.0F : 1e4F;  // also what exp makes 0
      lists.target.push_back(in(0, 4) == 0 ? -INFINITY : -scale * static_cast<float>(in(0, 9)));
      lists.draft.push_back(in(0, 4) == 0 ? -INFINITY : -scale * static_cast<float>(in(0, 9)));
      valid += std::isfinite(lists.target.back()) ? 1 : 0;
    }
    const int32_t beams = in(1, 8);
    const Form form{beams, beams + in(0, 8), true};
    const Relaxed found = relaxed(lists, form, {9, run, run % 5 == 0 ? 63 : 0});
    ASSERT_EQ(found.live, std::min<int64_t>(beams, valid)) << "run " << run;
    std::vector<bool> seen(static_cast<size_t>(n));
    for (int32_t k = 0; k < beams; ++k) {
      const int64_t extension = found.extensions[static_cast<size_t>(k)];
      ASSERT_EQ(extension >= 0, k < found.live);
      if (extension < 0) continue;
      ASSERT_TRUE(std::isfinite(lists.target[static_cast<size_t>(extension)]));
      ASSERT_FALSE(seen[static_cast<size_t>(extension)]);
      seen[static_cast<size_t>(extension)] = true;
      const auto& drafts = found.drafts;
      ASSERT_TRUE(!found.goes_on || std::find(drafts.begin(), drafts.end(), extension) != drafts.end());
    }
    ASSERT_TRUE(found.live > 0 || !found.goes_on) << "run " << run << ": there is nothing to go on from";
    went_on += found.goes_on ? 1 : 0;
  }
  EXPECT_GT(went_on, 0);
}

// The same numbers give the same beams, and other requests or levels others.
TEST(RelaxedSpeculation, RepeatsByItsSeed) {
  const Lists lists = some_lists()[1];
  const Form form{2, 3, true};
  int64_t others = 0;
  for (int64_t run = 0; run < 100; ++run) {
    const std::vector<int64_t> found = relaxed(lists, form, {3, run, 1}).extensions;
    EXPECT_EQ(found, relaxed(lists, form, {3, run, 1}).extensions);
    others += found != relaxed(lists, form, {4, run, 1}).extensions ? 1 : 0;
    others += found != relaxed(lists, form, {3, run, 2}).extensions ? 1 : 0;
  }
  EXPECT_GT(others, 20);
}

// Two levels of K = 2 with replacement: drafted together and verified level by level, the beams have the law of drawing
// from the target alone, level by level, though the second level's drafts are thrown away where the first stops.
TEST(RelaxedSpeculation, RoundsOfSeveralLevelsHaveTheTargetsLaw) {
  const TwoLevels model = two_levels();
  const Law wanted = two_level_law(model);
  std::vector<int64_t> counts(wanted.size());
  int64_t saved = 0;
  for (int64_t run = 0; run < kRuns; ++run) ++counts[two_level_outcome(model, {11, run, 0}, saved)];
  EXPECT_GT(chi_square(counts, wanted), kReject);
  EXPECT_GT(saved, 0);
  EXPECT_LT(saved, kRuns);
}

}  // namespace
}  // namespace speculation
