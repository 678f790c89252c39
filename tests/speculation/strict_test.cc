// Strict speculation gives what plain search gives with the target alone, to the bit, whatever the draft.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "case.h"

namespace speculation {
namespace {

constexpr uint64_t kCases = SIDBEAM_SANITIZED ? 200 : 4000;

// Under rules, and in versions of live catalogues: what plain indexes of the allowed items alone give; only ordinals
// are others.
void expect_rules(const Case& c, Result found) {
  const Case alone = without_rules(c);
  if (c.rules.empty() && !c.live) return;
  if (alone.sids.empty() || (alone.other_sids.empty() && !c.other_sids.empty())) return;
  const Result wanted = plain(alone, make_world(alone));
  found.ordinals = wanted.ordinals;
  EXPECT_TRUE(found == wanted);
}

int64_t depth_of(const Case& c, const Prefix& start) { return c.levels() - static_cast<int64_t>(start.size()); }

// Runs cases in a mode; counts how often a whole level was accepted.
int64_t compare(int32_t mode, uint64_t first_seed) {
  int64_t accepted = 0;
  for (uint64_t seed = first_seed; seed < first_seed + kCases; ++seed) {
    const Case c = random_case(seed, mode);
    const World world = make_world(c);
    sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
    const Result found = speculative(c, world, stats), wanted = plain(c, world);
    EXPECT_TRUE(found == wanted) << "seed " << seed << ", mode " << mode;
    expect_rules(c, found);
    EXPECT_LE(stats.rounds, stats.levels);
    EXPECT_EQ(stats.levels - stats.rounds, stats.accepted_levels) << "seed " << seed;
    EXPECT_LE(stats.accepted_levels, stats.drafted_levels);
    int64_t most = 0;
    for (const Prefix& prefix : c.starts) most += depth_of(c, prefix);
    EXPECT_LE(stats.levels, most);
    accepted += stats.accepted_levels;
    if (::testing::Test::HasFailure()) break;
  }
  return accepted;
}

TEST(StrictSpeculation, GivesTheBitsOfPlainSearch) { EXPECT_GT(compare(SIDBEAM_MODE_SEARCH, 1), 0); }

TEST(StrictSpeculation, GivesTheBitsOfTheTargetsOwnStochasticBeams) {
  EXPECT_GT(compare(SIDBEAM_MODE_STOCHASTIC, 100001), 0);
}

// A draft that is the target saves every call that the draft's levels allow.
TEST(StrictSpeculation, AcceptsEveryLevelOfADraftThatIsTheTarget) {
  for (const int32_t mode : {SIDBEAM_MODE_SEARCH, SIDBEAM_MODE_STOCHASTIC}) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const Case c = accepted_case(seed, mode);
      const World world = make_world(c);
      sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
      EXPECT_TRUE(speculative(c, world, stats) == plain(c, world));
      EXPECT_EQ(stats.accepted_levels, stats.drafted_levels) << "seed " << seed << ", mode " << mode;
      if (stats.levels == c.levels()) {  // not where every row is -inf
        EXPECT_EQ(stats.rounds, (c.levels() + c.draft_levels) / (c.draft_levels + 1));
      }
    }
  }
}

// The same code of more than 21 bits below two nodes, which once had one key: the bits beyond were also the parent's.
TEST(StrictSpeculation, TellsNodesOfAWideLevelApart) {
  const int32_t far = (3 << 21) + 1;
  Case c;
  c.codes = {2, far + 1, 2};
  c.sids = {{0, far, 0}, {0, far, 1}, {1, far, 0}, {1, far, 1}};
  c.beams = c.width = c.draft_levels = 2;
  c.normalization = SIDBEAM_NORMALIZE_NONE;
  c.starts = {{}};
  c.seeds = c.requests = {0};
  c.target.seed = 3;
  c.target.offsets = {0, 0, 0};
  c.target.columns = far + 1;
  c.draft = c.target;
  const World world = make_world(c);
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  const Result found = speculative(c, world, stats), wanted = plain(c, world);
  EXPECT_TRUE(found == wanted);
  EXPECT_EQ(found.live[0], 2);
  EXPECT_EQ(stats.accepted_levels, 2);
}

}  // namespace
}  // namespace speculation
