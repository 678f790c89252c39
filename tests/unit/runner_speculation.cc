// Strict speculation in the runner gives what the target gives alone, to the bit, whatever the draft.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "models.h"
#include "runner_trees.h"
#include "sidbeam/runner.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes, fakes::Found, fakes::Randomly, fakes::World;
using trees::FakeTrees, trees::Kind, trees::Request, trees::Requests, trees::run;

// Where the draft's pass has failed there is no round to count.
void check_rounds(const Rounds& rounds, int32_t levels) {
  EXPECT_GE(rounds.count, 1);
  EXPECT_LE(rounds.levels, levels);
  EXPECT_EQ(rounds.levels - rounds.count, rounds.accepted_levels);
  EXPECT_LE(rounds.accepted_levels, rounds.drafted_levels);
  EXPECT_GE(rounds.nodes, rounds.count);
  EXPECT_GE(rounds.draft_time, 0);
}

World random_world(Randomly& random) {
  World world;
  for (int32_t levels = 1 + random.below(5); levels > 0; --levels)
    world.codes.push_back(random.one_in(6) ? 1 + random.below(2) : 1 + random.below(9));
  world.beams = random.one_in(4) ? 1 : 1 + random.below(12);
  const std::array<int32_t, 3> normalizations = {SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL,
                                                 SIDBEAM_NORMALIZE_VALID};
  world.normalization = normalizations[static_cast<size_t>(random.below(3))];
  const std::array<int32_t, 3> strategies = {SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_SORTED, SIDBEAM_STRATEGY_NONE};
  world.mode = random.one_in(3) ? SIDBEAM_MODE_STOCHASTIC : SIDBEAM_MODE_SEARCH;
  const bool knows_valid = world.normalization == SIDBEAM_NORMALIZE_VALID || world.mode == SIDBEAM_MODE_STOCHASTIC;
  world.strategy = strategies[static_cast<size_t>(random.below(knows_valid ? 2 : 3))];
  world.variable = world.strategy != SIDBEAM_STRATEGY_NONE && random.one_in(2);
  world.inverse_temperature = random.one_in(2) ? 0.0F : 0.5F;
  world.soft_cap = random.one_in(3) ? 2.0F : 0.0F;
  return world;
}

constexpr size_t kModes = SIDBEAM_MODE_STOCHASTIC + 1;

// Batches of random catalogues, widths and prompts, on one lane; two catalogues in a batch, plain ones or versions of
// live ones.
void compare_batches(uint64_t seed, int64_t (&accepted)[kModes]) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Randomly random{std::mt19937_64(seed)};
  World world = random_world(random);
  const int32_t kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED;
  const auto catalogue = [&] {
    const bool live = world.strategy == SIDBEAM_STRATEGY_TRIE && random.one_in(2);
    return fakes::make_catalogue(world, 1 + random.below(100), random.engine(), kinds, live);
  };
  const fakes::Catalogue own = catalogue(), other = catalogue();
  world.constraint = handles::share(own.constraint);
  world.finish();
  const int32_t most = 1 + random.below(4), width = world.beams + (random.one_in(2) ? 0 : random.below(9));
  const auto kind = static_cast<Kind>(random.below(trees::kKinds));
  const auto lane = trees::make_lane(world, most, width, kind);
  for (int batch = 0; batch < 3; ++batch) {
    Requests requests;
    for (int32_t count = 1 + random.below(most); count > 0; --count) {
      requests.push_back(std::make_unique<Request>());
      Request& request = *requests.back();
      for (int32_t n = 1 + random.below(4); n > 0; --n) request.prompt.push_back(random.below(3));
      request.beams = 1 + random.below(world.beams);
      request.widths = fakes::random_widths(random.engine, world, request.beams);
      request.catalogue = random.one_in(3) ? &other : &own;
      request.constraint = request.catalogue->constraint.get();
      request.seed = random.below(1000), request.sampling_request = random.below(1000);
    }
    run(*lane, requests);
    for (const auto& request : requests) {
      const fakes::Widths widths = request->widths.empty() ? fakes::Widths(request->beams) : request->widths;
      const Found expected = fakes::search_by_hand(world, *request->catalogue, request->prompt, widths,
                                                   {request->seed, request->sampling_request});
      EXPECT_EQ(request->found, expected) << "batch " << batch << ": " << request->found.message;
      check_rounds(request->rounds, world.levels());
      accepted[world.mode] += request->rounds.accepted_levels;
      if (kind == Kind::kSame && width == world.beams && !world.variable) {
        EXPECT_EQ(request->rounds.count, 1) << "the target is its own draft";
      }
    }
  }
}

TEST(RunnerSpeculation, HasTheBitsOfASessionByHandWhateverTheDraft) {
  int64_t accepted[kModes] = {};
  for (uint64_t seed = 1; seed <= (SIDBEAM_SANITIZED ? 300 : 3000) && !::testing::Test::HasFailure(); ++seed)
    compare_batches(seed, accepted);
  EXPECT_GT(accepted[SIDBEAM_MODE_SEARCH], 0);
  EXPECT_GT(accepted[SIDBEAM_MODE_STOCHASTIC], 0);
}

class SpeculativeLane : public ::testing::Test {
 protected:
  SpeculativeLane() {
    world_.codes = {5, 6, 7};
    world_.constraint = fakes::make_constraint(world_.runtime.get(), world_.codes, 80, 1);
    world_.finish();
    for (const int32_t prompt : {1, 2, 3}) {
      requests_.push_back(std::make_unique<Request>());
      requests_.back()->prompt = {prompt};
      requests_.back()->beams = world_.beams;
      requests_.back()->constraint = world_.constraint.get();
    }
  }
  void expect_found(size_t i) const {
    EXPECT_EQ(requests_[i]->found,
              fakes::search_by_hand(world_, world_.constraint.get(), requests_[i]->prompt, world_.beams));
  }

  World world_;
  Requests requests_;
};

// The target runs once per round, its first pass with the prompt in it, and the draft once per level that it writes.
TEST_F(SpeculativeLane, RunsTheTargetOncePerRound) {
  int32_t target = 0, draft = 0;
  const auto same = trees::make_lane(
      world_, 3, 4, Kind::kSame, [&](float*) { ++target; }, [&](float*) { ++draft; });
  run(*same, requests_);
  EXPECT_EQ(target, 1);
  EXPECT_EQ(draft, 2);
  for (const auto& request : requests_) {
    EXPECT_EQ(request->rounds.levels, 3);
    EXPECT_EQ(request->rounds.accepted_levels, 2);
    EXPECT_EQ(request->rounds.nodes, 1 + 4 + 4);
  }
  EXPECT_GT(same->memory_bytes(), 2000);

  target = draft = 0;
  const auto inverted = trees::make_lane(
      world_, 3, 4, Kind::kInverted, [&](float*) { ++target; }, [&](float*) { ++draft; });
  for (const auto& request : requests_) request->endings = 0;
  run(*inverted, requests_);
  int32_t most = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    expect_found(i);
    most = std::max(most, requests_[i]->rounds.count);
  }
  EXPECT_EQ(target, most);
  EXPECT_GT(most, 1);
}

TEST_F(SpeculativeLane, ACancelledRequestEndsAtItsNextRoundAndTheOthersGoOn) {
  const auto lane = trees::make_lane(world_, 3, 4, Kind::kInverted, [&](float*) { requests_[1]->cancelled = true; });
  run(*lane, requests_);
  EXPECT_EQ(requests_[1]->found.status, SIDBEAM_CANCELLED);
  EXPECT_EQ(requests_[1]->rounds.count, 1);
  for (const size_t other : {0U, 2U}) expect_found(other);
}

TEST_F(SpeculativeLane, BadLogitsOfTheTargetFailTheirRequestAlone) {
  const auto lane = trees::make_lane(world_, 3, 4, Kind::kInverted, [&, first = true](float* logits) mutable {
    if (first) logits[4] = std::nanf("");
    first = false;
  });
  run(*lane, requests_);
  EXPECT_EQ(requests_[0]->found.status, SIDBEAM_INVALID_ARGUMENT);
  EXPECT_NE(requests_[0]->found.message.find("NaN or +inf"), std::string::npos);
  for (const size_t other : {1U, 2U}) expect_found(other);
}

TEST_F(SpeculativeLane, AFailingPassOfEitherModelFailsAllThatRun) {
  for (const bool in_draft : {false, true}) {
    bool broken = true;
    const auto fails = [&](float*) {
      if (broken) fail(SIDBEAM_DEVICE_ERROR, "the device fell off");
    };
    const auto lane = in_draft ? trees::make_lane(world_, 3, 4, Kind::kOther, {}, fails)
                               : trees::make_lane(world_, 3, 4, Kind::kOther, fails);
    for (const auto& request : requests_) request->endings = 0;
    run(*lane, requests_);
    for (const auto& request : requests_) {
      EXPECT_EQ(request->found.status, SIDBEAM_DEVICE_ERROR);
      EXPECT_EQ(request->found.message, "the device fell off");
      request->endings = 0;
    }
    broken = false;
    run(*lane, requests_);
    for (size_t i = 0; i < requests_.size(); ++i) expect_found(i);
  }
}

// Real models: every one of the small ones as a draft of every other, through the C ABI.
struct Answer {
  Found found;
  int32_t rounds = 0, drafted = 0, accepted = 0;
};

struct RunnerDeleter {
  void operator()(sidbeam_runner* runner) const { sidbeam_runner_destroy(runner); }
};
using RunnerHandle = std::unique_ptr<sidbeam_runner, RunnerDeleter>;

RunnerHandle make_runner(sidbeam_runtime* runtime, const sidbeam_runner_config& config) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runner* runner = nullptr;
  fakes::check(sidbeam_runner_create(runtime, &config, &runner, &error), error);
  return RunnerHandle(runner);
}

Answer ask(sidbeam_runner* runner, const History& history, const fakes::Codes& widths, sidbeam_constraint* constraint,
           const fakes::Keys& keys) {
  Answer answer;
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  request.tokens = history.tokens.data();
  request.group = history.group;
  request.positions = static_cast<int64_t>(history.tokens.size()) / history.group;
  request.widths = widths.data();
  request.width_levels = static_cast<int32_t>(widths.size());
  request.constraint = constraint;
  request.seed = keys.seed, request.sampling_request = keys.request;
  request.context = &answer;
  request.done = [](void* context, const sidbeam_result* result) {
    auto& to = *static_cast<Answer*>(context);
    to.found = fakes::copy(*result, result->levels);
    to.rounds = result->rounds, to.drafted = result->drafted_levels, to.accepted = result->accepted_levels;
  };
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  fakes::check(sidbeam_runner_run(runner, &request, &error), error);
  return answer;
}

History random_history(Randomly& random, int32_t group) {
  History history;
  history.group = group;
  for (int32_t n = group * (1 + random.below(12)); n > 0; --n) history.tokens.push_back(random.below(kVocabulary));
  return history;
}

// A search has none.
fakes::Keys random_keys(Randomly& random, int32_t mode) {
  if (mode == SIDBEAM_MODE_SEARCH) return {};
  return {random.below(1000), random.below(1000)};
}

class SpeculatingModels {
 public:
  SpeculatingModels() {
    for (const char* name : kModels) models_.push_back(open_small(name));
  }
  // Returns the levels that were accepted.
  int32_t compare(uint64_t seed) const {
    Randomly random{std::mt19937_64(seed)};
    const World world = catalogue(random);
    const handles::Constraint other =
        fakes::make_constraint(world.runtime.get(), world.codes, 1 + random.below(60), random.engine(), world.variable);
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = world.levels();
    vocabulary.offsets = world.offsets.data();
    vocabulary.end_column = kVocabulary - 1;
    const std::array<int32_t, 2> begin = {1, 2};
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    const size_t target = pick(random), draft = pick(random);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << kModels[target] << " by " << kModels[draft]);
    config.model = reinterpret_cast<sidbeam_model*>(models_[target].get());
    config.constraint = world.constraint.get();
    config.vocabulary = &vocabulary;
    config.begin_tokens = begin.data();
    config.begin_count = random.below(3);
    config.beams = world.beams;
    config.normalization = world.normalization;
    config.max_prompt = 16, config.max_group = 1 + random.below(2);
    config.inverse_temperature = random.one_in(2) ? 0.0F : 0.5F;
    config.soft_cap = random.one_in(2) ? 0.0F : 3.0F;
    config.mode = random.one_in(3) ? SIDBEAM_MODE_STOCHASTIC : SIDBEAM_MODE_SEARCH;
    const RunnerHandle plain = make_runner(world.runtime.get(), config);
    config.draft = reinterpret_cast<sidbeam_model*>(models_[draft].get());
    config.draft_beams = random.one_in(2) ? 0 : world.beams + random.below(6);
    const RunnerHandle speculative = make_runner(world.runtime.get(), config);
    int32_t accepted = 0;
    for (int i = 0; i < 3; ++i) {
      const History history = random_history(random, config.max_group);
      fakes::Codes widths = fakes::random_widths(random.engine, world, world.beams);
      if (config.mode == SIDBEAM_MODE_STOCHASTIC) std::sort(widths.begin(), widths.end(), std::greater<>());
      if (!widths.empty() && random.one_in(4)) widths[0] = 0;  // all
      sidbeam_constraint* const constraint = random.one_in(3) ? other.get() : nullptr;
      const fakes::Keys keys = random_keys(random, config.mode);
      const Answer wanted = ask(plain.get(), history, widths, constraint, keys);
      const Answer answer = ask(speculative.get(), history, widths, constraint, keys);
      EXPECT_EQ(answer.found, wanted.found);
      EXPECT_EQ(wanted.rounds, 0);
      EXPECT_GE(answer.rounds, 1);
      EXPECT_LE(answer.accepted, answer.drafted);
      EXPECT_LE(answer.accepted + answer.rounds, world.levels());
      if (target == draft && !world.variable && config.draft_beams == 0) {
        EXPECT_EQ(answer.rounds, 1);
      }
      accepted += answer.accepted;
    }
    return accepted;
  }

 private:
  size_t pick(Randomly& random) const {
    return static_cast<size_t>(random.below(static_cast<int32_t>(models_.size())));
  }
  static World catalogue(Randomly& random) {
    World world;
    for (int32_t levels = 1 + random.below(4); levels > 0; --levels) world.codes.push_back(1 + random.below(9));
    world.beams = random.one_in(4) ? 1 : 1 + random.below(10);
    world.normalization = random.below(3);
    world.variable = random.one_in(3);
    world.constraint =
        fakes::make_constraint(world.runtime.get(), world.codes, 1 + random.below(60), random.engine(), world.variable);
    world.finish();
    return world;
  }

  std::vector<Ref<Model>> models_;
};

TEST(RunnerSpeculation, OfModelsHasTheBitsOfTheTargetAlone) {
  const SpeculatingModels models;
  int32_t accepted = 0;
  for (uint64_t seed = 1; seed <= (SIDBEAM_SANITIZED ? 100 : 1500) && !::testing::Test::HasFailure(); ++seed)
    accepted += models.compare(seed);
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace sidbeam::runner
