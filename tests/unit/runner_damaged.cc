// Rounds of speculation over an index whose sections are damaged, and which nobody has verified: whatever they find,
// they end, and touch no memory but their own. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "damaged_index.h"
#include "runner_trees.h"

namespace sidbeam::runner {
namespace {

using fakes::Randomly, fakes::SoundFile, fakes::World;

void run_damaged(World& world, const Drafting& drafting, Randomly& random) {
  const auto lane = trees::make_lane(world, 2, drafting, static_cast<trees::Kind>(random.below(trees::kKinds)));
  trees::Requests requests = trees::make_requests(world, 2, 1 + random.below(world.beams));
  for (const auto& request : requests) request->seed = static_cast<int64_t>(random.engine());
  trees::run(*lane, requests);
  for (const auto& request : requests) EXPECT_LE(std::ssize(request->found.scores), world.beams);
}

TEST(RunnerDamaged, RoundsTouchNothingButTheirOwn) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Randomly random{std::mt19937_64(seed)};
    World world;
    world.damaged = true;
    for (int32_t levels = 1 + random.below(4); levels > 0; --levels) world.codes.push_back(1 + random.below(7));
    world.beams = 1 + random.below(6);
    world.normalization = random.below(3);
    world.variable = !random.one_in(3);
    const auto sids = handles::random_sids(world.codes, 1 + random.below(40), seed, world.variable);
    const SoundFile file(world.runtime.get(),
                         handles::make_builder(world.runtime.get(), world.codes, sids, world.variable));
    for (int32_t damage = 0; damage < (SIDBEAM_SANITIZED ? 20 : 10); ++damage) {
      world.constraint = handles::make_constraint(file.damaged(random).get());
      world.finish();
      Drafting drafting;
      drafting.relaxed = !random.one_in(4);
      drafting.without_replacement = drafting.relaxed && random.one_in(2);
      drafting.beams = world.beams + (drafting.relaxed && !drafting.without_replacement ? 0 : random.below(5));
      run_damaged(world, drafting, random);
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner
