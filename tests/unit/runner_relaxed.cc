// Relaxed rounds of the runner follow the laws that enumeration gives, whatever the draft, and repeat by their seeds.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "../sampling/statistics.h"
#include "relaxed_laws.h"
#include "runner_trees.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes, fakes::Found, fakes::Randomly, fakes::World;
using laws::Law, laws::Path, laws::Paths, laws::Question;
using trees::Kind, trees::Request, trees::Requests, trees::run;

constexpr int64_t kRuns = SIDBEAM_SANITIZED ? 1 << 9 : 1 << 13;
constexpr double kReject = 1e-5;  // of about a hundred tests with fixed seeds

Requests make_requests(const World& world, int32_t count, int32_t beams) {
  Requests requests;
  for (int32_t i = 0; i < count; ++i) {
    requests.push_back(std::make_unique<Request>());
    requests.back()->beams = beams;
    requests.back()->constraint = world.constraint.get();
    requests.back()->sampling_request = i;
  }
  return requests;
}

Path path_of(const Found& found, int32_t levels, size_t i) {
  const auto first = found.sids.begin() + static_cast<std::ptrdiff_t>(i) * levels;
  return {first, std::find(first, first + levels, -1)};
}

Paths paths_of(const Found& found, int32_t levels) {
  Paths paths;
  for (size_t i = 0; i < found.scores.size(); ++i) paths.push_back(path_of(found, levels, i));
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Results of kRuns requests, eight in a batch.
std::map<Paths, int64_t> results_of(const World& world, const Drafting& drafting, const Question& question,
                                    int64_t seed, int64_t& accepted) {
  constexpr int32_t kBatch = 8;
  const auto lane = trees::make_lane(world, kBatch, drafting, question.draft);
  Requests requests = make_requests(world, kBatch, question.beams);
  std::map<Paths, int64_t> counts;
  for (int64_t i = 0; i < kRuns; i += kBatch) {
    for (int32_t at = 0; at < kBatch; ++at) {
      requests[static_cast<size_t>(at)]->seed = seed;
      requests[static_cast<size_t>(at)]->sampling_request = i + at;
    }
    run(*lane, requests);
    for (const auto& request : requests) {
      EXPECT_EQ(request->found.status, SIDBEAM_OK) << request->found.message;
      ++counts[paths_of(request->found, world.levels())];
      accepted += request->rounds.accepted_levels;
    }
  }
  return counts;
}

// Cells of which too few are expected are one cell.
double chi_square(const std::map<Paths, int64_t>& counts, const Law& law) {
  std::vector<int64_t> seen = {0};
  std::vector<double> expected = {0.0};
  double sum = 0.0;
  for (const auto& [paths, probability] : law) {
    const auto found = counts.find(paths);
    const int64_t count = found == counts.end() ? 0 : found->second;
    sum += probability;
    if (probability * static_cast<double>(kRuns) < 5.0) {
      seen[0] += count;
      expected[0] += probability;
    } else {
      seen.push_back(count);
      expected.push_back(probability);
    }
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  for (const auto& [paths, count] : counts) EXPECT_TRUE(law.count(paths) > 0) << "a result that cannot be";
  return sampling::chi_square(seen, expected);
}

struct Shape {
  Codes codes;
  handles::SidRows sids;
  int32_t normalization;
  float inverse_temperature, soft_cap;
  bool variable = false;
};
Shape fixed(const Codes& codes, int32_t sids, int32_t normalization, float inverse_temperature, float soft_cap) {
  return {codes, handles::random_sids(codes, sids, 7, false), normalization, inverse_temperature, soft_cap};
}
// SIDs of up to three codes.
Shape variable(const Codes& codes, const Paths& sids, int32_t normalization, float inverse_temperature) {
  Shape shape{codes, {}, normalization, inverse_temperature, 0, true};
  for (const Path& sid : sids) {
    shape.sids.lengths.push_back(static_cast<int32_t>(sid.size()));
    shape.sids.codes.insert(shape.sids.codes.end(), sid.begin(), sid.end());
    shape.sids.codes.resize(shape.sids.lengths.size() * codes.size());
  }
  return shape;
}
const Shape kShapes[] = {fixed({3, 2, 2}, 9, SIDBEAM_NORMALIZE_FULL, 0.5F, 0.0F),
                         fixed({4, 3}, 10, SIDBEAM_NORMALIZE_VALID, 0.25F, 0.0F),
                         fixed({2, 3, 2}, 12, SIDBEAM_NORMALIZE_LEVEL, 0.5F, 3.0F)};
const Shape kVariableShapes[] = {
    // One of length 1, which others begin with, and one that another begins with at the second level.
    variable({3, 2, 2}, {{0}, {0, 1}, {0, 1, 0}, {1, 0, 1}, {1, 1}, {2, 0, 0}, {2, 0, 1}}, SIDBEAM_NORMALIZE_VALID,
             0.25F),
    variable({3, 2, 2}, {{0}, {0, 1}, {0, 1, 0}, {1, 0, 1}, {1, 1}, {2}}, SIDBEAM_NORMALIZE_FULL, 0.5F),
    variable({2, 3, 2}, {{0}, {0, 0, 0}, {0, 1}, {1}, {1, 2}, {1, 2, 1}}, SIDBEAM_NORMALIZE_LEVEL, 0.5F),
    // All of one code, all but one, and all of the same length, the most there is or less.
    variable({4, 2}, {{0}, {1}, {2}, {3}}, SIDBEAM_NORMALIZE_VALID, 0.25F),
    variable({4, 2}, {{0}, {1}, {2}, {3, 1}}, SIDBEAM_NORMALIZE_FULL, 0.25F),
    variable({2, 2, 2}, {{0, 0, 0}, {0, 1, 0}, {1, 0, 1}, {1, 1, 1}}, SIDBEAM_NORMALIZE_LEVEL, 0.5F),
    variable({2, 2, 2}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, SIDBEAM_NORMALIZE_VALID, 1.0F),
    // Fewer than there are beams.
    variable({2, 2}, {{1}}, SIDBEAM_NORMALIZE_VALID, 1.0F)};

World world_of(const Shape& shape, int32_t beams) {
  World world;
  world.codes = shape.codes;
  world.beams = beams;
  world.normalization = shape.normalization;
  world.inverse_temperature = shape.inverse_temperature;
  world.soft_cap = shape.soft_cap;
  world.variable = shape.variable;
  world.constraint = handles::make_constraint(world.runtime.get(), world.codes, shape.sids, shape.variable);
  world.finish();
  return world;
}

Question question_of(const World& world, const Shape& shape, Kind draft, int32_t drafts) {
  return {world, laws::sids_of(shape.codes, shape.sids), {1}, draft, world.beams, drafts};
}

template <class Shapes>
void expect_the_targets_law(const Shapes& shapes, int64_t seed) {
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "shape " << &shape - shapes);
    const World world = world_of(shape, 2);
    int64_t accepted = 0;
    for (int32_t kind = 0; kind < trees::kKinds; ++kind) {
      const Question question = question_of(world, shape, static_cast<Kind>(kind), 2);
      const Law law = laws::draws_with_replacement(question);
      EXPECT_LT(laws::total_variation(laws::rounds_with_replacement(question), law), 1e-9) << "of the method itself";
      for (int32_t repeat = 0; repeat < 2; ++repeat) {
        const auto counts = results_of(world, {2, true, false}, question, ++seed, accepted);
        EXPECT_GT(chi_square(counts, law), kReject) << "kind " << kind << ", seed " << seed;
      }
    }
    EXPECT_GT(accepted, 0);
  }
}

TEST(RunnerRelaxed, WithReplacementHasTheTargetsLawWhateverTheDraft) { expect_the_targets_law(kShapes, 100); }
TEST(RunnerRelaxed, WithReplacementHasTheTargetsLawForSidsOfVariableLength) {
  expect_the_targets_law(kVariableShapes, 200);
}

// Laws of other temperatures or of a draft would be seen.
TEST(RunnerRelaxed, TheTestsWouldSeeAnotherLaw) {
  const World world = world_of(kShapes[0], 2),
              colder = world_of(fixed(kShapes[0].codes, 9, SIDBEAM_NORMALIZE_FULL, 0.6F, 0), 2);
  int64_t accepted = 0;
  const auto counts = results_of(world, {2, true, false}, question_of(world, kShapes[0], Kind::kNear, 2), 1, accepted);
  const Law other = laws::draws_with_replacement(question_of(colder, kShapes[0], Kind::kNear, 2));
  EXPECT_LT(chi_square(counts, other), SIDBEAM_SANITIZED ? 0.5 : kReject);
}

template <class Shapes>
void expect_the_released_forms_law(const Shapes& shapes, int64_t seed) {
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "shape " << &shape - shapes);
    const World world = world_of(shape, 2);
    for (const Kind kind : {Kind::kSame, Kind::kNear, Kind::kOther, Kind::kInverted, Kind::kNothing, Kind::kBroken}) {
      for (const int32_t drafts : {2, 3}) {
        const Question question = question_of(world, shape, kind, drafts);
        const Law law = laws::released_rounds(question);
        int64_t accepted = 0;
        const auto counts = results_of(world, {drafts, true, true}, question, ++seed, accepted);
        EXPECT_GT(chi_square(counts, law), kReject)
            << "kind " << static_cast<int32_t>(kind) << ", N " << drafts << ", seed " << seed;
        std::printf("L = %d, draft %d, K = 2, N = %d: total variation from the target's own draws %.4f\n",
                    world.levels(), static_cast<int32_t>(kind), drafts,
                    laws::total_variation(law, laws::draws_without_replacement(question)));
      }
    }
  }
}

TEST(RunnerRelaxed, WithoutReplacementFollowsTheReleasedFormsOwnLaw) { expect_the_released_forms_law(kShapes, 1000); }
TEST(RunnerRelaxed, WithoutReplacementFollowsItsLawForSidsOfVariableLength) {
  expect_the_released_forms_law(kVariableShapes, 2000);
}

// Where the target keeps two of four drafts, q of the next level is over what these two may continue with.
TEST(RunnerRelaxed, WithoutReplacementForgetsTheDraftsThatWereNotKept) {
  const Shape shape = fixed({4, 4, 2}, 26, SIDBEAM_NORMALIZE_FULL, 0.25F, 0.0F);
  const World world = world_of(shape, 2);
  for (const Kind kind : {Kind::kOther, Kind::kInverted}) {
    const Question question = question_of(world, shape, kind, 4);
    int64_t accepted = 0;
    const auto counts = results_of(world, {4, true, true}, question, 77, accepted);
    EXPECT_GT(accepted, kRuns / 8);
    if (SIDBEAM_SANITIZED) continue;  // the enumeration, none of it the library's, would take two minutes
    EXPECT_GT(chi_square(counts, laws::released_rounds(question)), kReject) << "kind " << static_cast<int32_t>(kind);
  }
}

struct Case {
  World world;
  handles::SidRows sids;
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
  const Paths sids = paths_of(request.found, of.world.levels());
  ASSERT_EQ(request.found.status, SIDBEAM_OK) << request.found.message;
  for (const Path& sid : sids) EXPECT_EQ(question.sids.count(sid), 1U) << "a SID that the catalogue lacks";
  for (size_t i = 0; i < request.found.scores.size(); ++i) {
    const Path sid = path_of(request.found, of.world.levels(), i);
    EXPECT_NEAR(request.found.scores[i], score_of(of, question, sid), 2e-5);
    EXPECT_TRUE(i == 0 || request.found.scores[i - 1] >= request.found.scores[i]) << "not the best first";
    EXPECT_EQ(request.found.ordinals[i], ordinal_of(question, sid));
  }
  const auto all = static_cast<int32_t>(question.sids.size());
  if (of.drafting.without_replacement) {
    EXPECT_EQ(std::set<Path>(sids.begin(), sids.end()).size(), sids.size()) << "not different";
    EXPECT_GE(static_cast<int32_t>(sids.size()), request.beams >= all ? all : 1);
    EXPECT_LE(static_cast<int32_t>(sids.size()), request.beams);
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

// Of random catalogues, drafts, widths and forms; alone, and in batches of others in another order.
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
  const World world = world_of(kShapes[0], 4);
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
