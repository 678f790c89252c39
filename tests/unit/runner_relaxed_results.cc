// Results of relaxed rounds: valid ones of random catalogues, the same in any batch, and what becomes of requests that
// end in another way. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "relaxed_laws.h"
#include "runner_trees.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Found, fakes::Randomly, fakes::World;
using laws::Path, laws::Paths, laws::Question;
using trees::Kind, trees::make_requests, trees::Request, trees::Requests, trees::run;

struct Case {
  World world;
  handles::SidRows sids;
  handles::Index version;  // of a live catalogue, with the same SIDs; null: none
  handles::Constraint of_version;
  Drafting drafting;
  Kind kind = Kind::kSame;
};

Case random_case(Randomly& random) {
  Case made;
  World& world = made.world;
  for (int32_t levels = 1 + random.below(4); levels > 0; --levels) world.codes.push_back(1 + random.below(7));
  world.beams = 1 + random.below(9);
  world.normalization = random.below(3);
  world.inverse_temperature = random.one_in(2) ? 0.0F : 0.25F;
  world.soft_cap = random.one_in(3) ? 2.0F : 0.0F;
  world.variable = random.one_in(2);
  made.sids = handles::random_sids(world.codes, 1 + random.below(60), random.engine(), world.variable);
  world.constraint = handles::make_constraint(world.runtime.get(), world.codes, made.sids, world.variable);
  world.finish();
  made.drafting.relaxed = true;
  made.drafting.without_replacement = random.one_in(2);
  made.drafting.beams = world.beams + (made.drafting.without_replacement ? random.below(9) : 0);
  made.kind = static_cast<Kind>(random.below(trees::kKinds));
  if (random.one_in(2)) return made;
  made.version = handles::make_version(world.runtime.get(), world.codes, made.sids, world.variable, random.engine());
  made.of_version = handles::make_constraint(made.version.get());
  return made;
}

double score_of(const Case& of, const Question& question, Path sid) {
  if (static_cast<int32_t>(sid.size()) < of.world.levels()) sid.push_back(laws::kEnd);
  double score = 0;
  for (auto end = sid.begin(); end != sid.end();)
    score += laws::log_prob(question, Path(sid.begin(), ++end), Kind::kSame);
  return score;
}

// A SID comes after those that it begins.
int64_t ordinal_of(const Question& question, const Path& sid) {
  return std::count_if(question.sids.begin(), question.sids.end(), [&](const Path& other) {
    const auto differ = std::mismatch(other.begin(), other.end(), sid.begin(), sid.end());
    if (differ.second == sid.end()) return differ.first != other.end();
    return differ.first != other.end() && *differ.first < *differ.second;
  });
}

// What every result must be.
void check_result(const Case& of, const Question& question, const Request& request) {
  const Paths sids = laws::paths_of(request.found, of.world.levels());
  ASSERT_EQ(request.found.status, SIDBEAM_OK) << request.found.message;
  for (const Path& sid : sids) EXPECT_EQ(question.sids.count(sid), 1U) << "a SID that the catalogue lacks";
  for (size_t i = 0; i < request.found.scores.size(); ++i) {
    const Path sid = laws::path_of(request.found, of.world.levels(), i);
    EXPECT_NEAR(request.found.scores[i], score_of(of, question, sid), 2e-5);
    EXPECT_TRUE(i == 0 || request.found.scores[i - 1] >= request.found.scores[i]) << "not the best first";
    EXPECT_EQ(request.found.ordinals[i], ordinal_of(question, sid));
  }
  const auto all = static_cast<int32_t>(question.sids.size());
  if (of.drafting.without_replacement) {
    EXPECT_EQ(std::set<Path>(sids.begin(), sids.end()).size(), sids.size()) << "not different";
    EXPECT_EQ(static_cast<int32_t>(sids.size()), std::min(request.beams, all));
  } else {
    EXPECT_EQ(static_cast<int32_t>(sids.size()), request.beams);
  }
  EXPECT_EQ(request.rounds.levels - request.rounds.count, request.rounds.accepted_levels);
  EXPECT_LE(request.rounds.levels, of.world.levels());
  for (const Path& sid : sids)
    EXPECT_GE(request.rounds.levels, std::min(static_cast<int32_t>(sid.size()) + 1, of.world.levels()));
  if (of.kind == Kind::kSame && !of.drafting.without_replacement) {
    EXPECT_EQ(request.rounds.count, 1) << "a draft that is always right";
  }
  EXPECT_LE(request.rounds.accepted_levels, request.rounds.drafted_levels);
}

// Of random catalogues, drafts, widths and forms; alone, and in batches of others in another order, which may be of a
// version of a live catalogue.
void compare_case(uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Randomly random{std::mt19937_64(seed)};
  const Case of = random_case(random);
  Question question{of.world, laws::sids_of(of.world.codes, of.sids), {}, of.kind, 0, 0};
  const int32_t most = 1 + random.below(4);
  const auto alone = trees::make_lane(of.world, 1, of.drafting, of.kind);
  const auto together = trees::make_lane(of.world, most, of.drafting, of.kind);
  for (int batch = 0; batch < 3; ++batch) {
    Requests requests = make_requests(of.world, 1 + random.below(most), 1);
    for (const auto& request : requests) {
      request->prompt = {random.below(3)};
      request->beams = 1 + random.below(of.world.beams);
      request->seed = static_cast<int64_t>(random.engine());
      request->sampling_request = random.below(100);
    }
    std::vector<Found> expected;
    for (const auto& request : requests) {
      question.prompt = request->prompt;
      Requests one = make_requests(of.world, 1, request->beams);
      one[0]->prompt = request->prompt;
      one[0]->seed = request->seed, one[0]->sampling_request = request->sampling_request;
      run(*alone, one);
      check_result(of, question, *one[0]);
      expected.push_back(one[0]->found);
      if (of.version == nullptr) continue;
      expected.back().ordinals = handles::ordinals_in(of.version.get(), one[0]->found.sids, of.world.levels());
      request->constraint = of.of_version.get();
    }
    run(*together, requests);
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(requests[i]->found, expected[i]);
  }
}

TEST(RunnerRelaxed, ResultsAreValidAndTheSameInAnyBatch) {
  for (uint64_t seed = 1; seed <= (SIDBEAM_SANITIZED ? 200 : 3000) && !::testing::Test::HasFailure(); ++seed)
    compare_case(seed);
}

TEST(RunnerRelaxed, OtherSeedsAndRequestsDrawOtherwise) {
  World world;
  world.codes = {3, 2, 2};
  world.constraint = fakes::make_constraint(world.runtime.get(), world.codes, 9, 7);
  world.finish();
  for (const bool without : {false, true}) {
    const auto lane = trees::make_lane(world, 1, {4, true, without}, Kind::kNear);
    int32_t by_seed = 0, by_request = 0;
    Requests requests = make_requests(world, 1, 2);
    const auto draw = [&](int64_t seed, int64_t request) {
      requests[0]->seed = seed, requests[0]->sampling_request = request;
      run(*lane, requests);
      return requests[0]->found;
    };
    for (int64_t i = 0; i < 50; ++i) {
      const Found first = draw(i, 3);
      EXPECT_EQ(first, draw(i, 3));
      by_seed += first == draw(i + 1000, 3) ? 0 : 1;
      by_request += first == draw(i, 4) ? 0 : 1;
    }
    EXPECT_GT(by_seed, 10);
    EXPECT_GT(by_request, 10);
  }
}

class RelaxedLane : public ::testing::Test {
 protected:
  const World world_ = [] {
    World world;
    world.codes = {5, 6, 7};
    world.constraint = fakes::make_constraint(world.runtime.get(), world.codes, 80, 1);
    world.finish();
    return world;
  }();
  const Drafting drafting_{4, true, false};
  Requests requests_ = make_requests(world_, 3, 4);
  std::vector<Found> alone() {
    const auto lane = trees::make_lane(world_, 3, drafting_, Kind::kInverted);
    run(*lane, requests_);
    std::vector<Found> found;
    for (const auto& request : requests_) found.push_back(request->found);
    return found;
  }
};

TEST_F(RelaxedLane, ACancelledRequestEndsAtItsNextRoundAndTheOthersGoOn) {
  const std::vector<Found> expected = alone();
  const auto lane =
      trees::make_lane(world_, 3, drafting_, Kind::kInverted, [&](float*) { requests_[1]->cancelled = true; });
  run(*lane, requests_);
  EXPECT_EQ(requests_[1]->found.status, SIDBEAM_CANCELLED);
  EXPECT_EQ(requests_[1]->rounds.count, 1);
  for (const size_t other : {0U, 2U}) EXPECT_EQ(requests_[other]->found, expected[other]);
}

TEST_F(RelaxedLane, BadLogitsOfTheTargetFailTheirRequestAlone) {
  const std::vector<Found> expected = alone();
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    const auto lane = trees::make_lane(world_, 3, drafting_, Kind::kInverted, [&, first = true](float* logits) mutable {
      if (first) logits[4] = bad;
      first = false;
    });
    run(*lane, requests_);
    EXPECT_EQ(requests_[0]->found.status, SIDBEAM_INVALID_ARGUMENT);
    EXPECT_NE(requests_[0]->found.message.find("NaN or +inf"), std::string::npos);
    for (const size_t other : {1U, 2U}) EXPECT_EQ(requests_[other]->found, expected[other]);
  }
}

TEST_F(RelaxedLane, AFailingPassOfEitherModelFailsAllThatRun) {
  const std::vector<Found> expected = alone();
  for (const bool in_draft : {false, true}) {
    bool broken = true;
    const auto fails = [&](float*) {
      if (broken) fail(SIDBEAM_DEVICE_ERROR, "the device fell off");
    };
    const auto lane = in_draft ? trees::make_lane(world_, 3, drafting_, Kind::kInverted, {}, fails)
                               : trees::make_lane(world_, 3, drafting_, Kind::kInverted, fails);
    run(*lane, requests_);
    for (const auto& request : requests_) EXPECT_EQ(request->found.status, SIDBEAM_DEVICE_ERROR);
    broken = false;
    run(*lane, requests_);
    for (size_t i = 0; i < requests_.size(); ++i) EXPECT_EQ(requests_[i]->found, expected[i]);
  }
}

// A target that allows nothing finds nothing, which is no error.
TEST_F(RelaxedLane, FindsNothingWhereTheTargetAllowsNothing) {
  const auto lane = trees::make_lane(world_, 3, drafting_, Kind::kSame, [&](float* logits) {
    std::fill_n(logits, world_.output->most_columns(), -HUGE_VALF);
  });
  run(*lane, requests_);
  EXPECT_EQ(requests_[0]->found.status, SIDBEAM_OK);
  EXPECT_TRUE(requests_[0]->found.sids.empty());
  EXPECT_EQ(requests_[1]->found.sids.size(), 12U);
}

}  // namespace
}  // namespace sidbeam::runner
