// Relaxed rounds of the runner follow the laws that enumeration gives, whatever the draft.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "../sampling/statistics.h"
#include "relaxed_laws.h"
#include "runner_trees.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes, fakes::World;
using laws::Law, laws::Path, laws::Paths, laws::Question;
using trees::Kind, trees::make_requests, trees::Requests, trees::run;

constexpr int64_t kRuns = SIDBEAM_SANITIZED ? 1 << 9 : 1 << 13;
constexpr double kReject = 1e-5;  // of about a hundred tests with fixed seeds

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
      ++counts[laws::paths_of(request->found, world.levels())];
      accepted += request->rounds.accepted_levels;
    }
  }
  return counts;
}

// Cells of which too few are expected are one cell; if that has too few as well, it joins the smallest other one.
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
  if (seen.size() > 1 && expected[0] * static_cast<double>(kRuns) < 5.0) {
    const auto smallest = std::min_element(expected.begin() + 1, expected.end()) - expected.begin();
    seen[static_cast<size_t>(smallest)] += std::exchange(seen[0], 0);
    expected[static_cast<size_t>(smallest)] += std::exchange(expected[0], 0.0);
  }
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
    // Four levels, so that a round drafts one after those at which a beam may have ended without the draft.
    variable({2, 2, 2, 2}, {{0}, {0, 0, 1}, {0, 1, 1, 0}, {1}, {1, 0}, {1, 0, 1, 1}, {1, 1, 0}},
             SIDBEAM_NORMALIZE_VALID, 0.1F),
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

// Enumerations, none of them the library's, are what takes time: sanitizers have every third kind of draft.
constexpr int32_t kNextKind = SIDBEAM_SANITIZED ? 3 : 1;

template <class Shapes>
void expect_the_targets_law(const Shapes& shapes, int64_t seed) {
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "shape " << &shape - shapes);
    const World world = world_of(shape, 2);
    int64_t accepted = 0;
    for (int32_t kind = 0; kind < trees::kKinds; kind += kNextKind) {
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
    for (const Kind kind :
         {Kind::kSame, Kind::kNear, Kind::kOther, Kind::kInverted, Kind::kNothing, Kind::kBroken, Kind::kEndless}) {
      if (static_cast<int32_t>(kind) % kNextKind != 0) continue;
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

}  // namespace
}  // namespace sidbeam::runner
