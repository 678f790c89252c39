// A lane's loop over the levels, against a session driven by hand. SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/lane.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

#include "runner_fakes.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes;
using fakes::Found;
using fakes::World;

struct Request {
  Codes prompt;
  int32_t beams = 0;
  Codes widths;  // of each level, if it has them
  sidbeam_constraint* constraint = nullptr;
  const fakes::Catalogue* catalogue = nullptr;  // of a test with several
  std::atomic<bool> cancelled{false};
  Found found;
  int32_t endings = 0;
};

class Collector final : public Ended {
 public:
  Collector(std::vector<std::unique_ptr<Request>>& requests, int32_t levels) : requests_(requests), levels_(levels) {}
  void ended(int32_t job, const Outcome& outcome) override {
    Request& request = *requests_[static_cast<size_t>(job)];
    ++request.endings;
    request.found = fakes::copy(outcome, levels_);
    order.push_back(job);
  }
  std::vector<int32_t> order;

 private:
  std::vector<std::unique_ptr<Request>>& requests_;
  int32_t levels_;
};

class LaneTest : public ::testing::Test {
 protected:
  void make_world(const Codes& codes, int32_t sids, int32_t beams, bool variable = false) {
    world_.codes = codes;
    world_.beams = beams;
    world_.variable = variable;
    world_.constraint = fakes::make_constraint(world_.runtime.get(), codes, sids, 1, variable, kinds_);
    world_.finish();
  }
  Request& add(Codes prompt, int32_t beams = 0) {
    requests_.push_back(std::make_unique<Request>());
    requests_.back()->prompt = std::move(prompt);
    requests_.back()->beams = beams == 0 ? world_.beams : beams;
    requests_.back()->constraint = world_.constraint.get();
    return *requests_.back();
  }
  std::vector<int32_t> run(Lane& lane) {
    std::vector<Job> jobs;
    for (const auto& request : requests_) {
      Job job;
      job.prompt = {request->prompt.data(), static_cast<int64_t>(request->prompt.size()), 1, nullptr};
      job.constraint = request->constraint;
      job.beams = request->beams;
      job.number = static_cast<int64_t>(jobs.size()) + 1;
      job.context = request.get();
      job.cancelled = &request->cancelled;
      jobs.push_back(job);
    }
    Collector collector(requests_, world_.levels());
    lane.run(jobs.data(), static_cast<int32_t>(jobs.size()), collector);
    for (const auto& request : requests_) EXPECT_EQ(request->endings, 1);
    return collector.order;
  }
  Found by_hand(const Request& request) const {
    return fakes::search_by_hand(world_, request.constraint, request.prompt, request.beams);
  }

  int32_t kinds_ = SIDBEAM_KIND_TRIE;
  World world_;
  std::vector<std::unique_ptr<Request>> requests_;
};

TEST_F(LaneTest, FindsWhatASessionByHandFinds) {
  make_world({5, 6, 7}, 60, 4);
  const Request& request = add({1, 2, 3});
  const auto lane = fakes::make_fake_lane(world_, 1);
  run(*lane);
  EXPECT_EQ(request.found.status, SIDBEAM_OK);
  EXPECT_EQ(request.found.scores.size(), 4U);
  EXPECT_EQ(request.found, by_hand(request));
  EXPECT_GT(lane->memory_bytes(), 1000);
}

// Random catalogues, widths and batches; lanes are used again and again. Two catalogues in a batch, plain ones or
// versions of live ones.
void check_batches(uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<uint64_t>(n)); };
  World world;
  for (int32_t levels = 1 + below(5); levels > 0; --levels) world.codes.push_back(1 + below(9));
  world.beams = 1 + below(12);
  const int32_t normalizations[] = {SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_NORMALIZE_VALID,
                                    SIDBEAM_NORMALIZE_NONE};
  world.normalization = normalizations[below(4)];
  const int32_t strategies[] = {SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_SORTED, SIDBEAM_STRATEGY_NONE};
  world.strategy = strategies[below(world.normalization == SIDBEAM_NORMALIZE_VALID ? 2 : 3)];
  world.variable = world.strategy != SIDBEAM_STRATEGY_NONE && below(2) == 0;
  const int32_t kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED;
  const auto catalogue = [&] {
    const bool live = world.strategy == SIDBEAM_STRATEGY_TRIE && below(2) == 0;
    return fakes::make_catalogue(world, 1 + below(100), random(), kinds, live);
  };
  const fakes::Catalogue own = catalogue(), other = catalogue();
  world.constraint = handles::share(own.constraint);
  world.finish();
  const int32_t most = 1 + below(5);
  const auto lane = fakes::make_fake_lane(world, most);
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<Job> jobs;
    for (int32_t count = 1 + below(most); count > 0; --count) {
      requests.push_back(std::make_unique<Request>());
      Request& request = *requests.back();
      for (int32_t n = 1 + below(4); n > 0; --n) request.prompt.push_back(below(3));
      request.beams = 1 + below(world.beams);
      request.widths = fakes::random_widths(random, world, request.beams);
      request.catalogue = below(3) == 0 ? &other : &own;
      Job job;
      job.prompt = {request.prompt.data(), static_cast<int64_t>(request.prompt.size()), 1, nullptr};
      job.constraint = request.catalogue->constraint.get();
      job.beams = request.beams;
      job.widths = request.widths.data();
      job.width_levels = static_cast<int32_t>(request.widths.size());
      job.cancelled = &request.cancelled;
      jobs.push_back(job);
    }
    Collector collector(requests, world.levels());
    lane->run(jobs.data(), static_cast<int32_t>(jobs.size()), collector);
    for (const auto& request : requests) {
      ASSERT_EQ(request->endings, 1);
      const fakes::Widths widths = request->widths.empty() ? fakes::Widths(request->beams) : request->widths;
      const Found expected = fakes::search_by_hand(world, *request->catalogue, request->prompt, widths);
      ASSERT_EQ(request->found, expected) << "round " << round << ": " << request->found.message;
    }
  }
}

TEST(LaneBatches, HaveTheBitsOfASessionByHandWhateverRunsWithThem) {
  for (uint64_t seed = 1; seed <= 150 && !::testing::Test::HasFatalFailure(); ++seed) check_batches(seed);
}

TEST_F(LaneTest, ACancelledRequestEndsAtItsNextLevelAndTheOthersGoOn) {
  for (int32_t when = -1; when < 3; ++when) {
    requests_.clear();
    make_world({5, 6, 7}, 80, 4);
    add({1});
    Request& cancelled = add({2});
    add({3});
    if (when < 0) cancelled.cancelled = true;
    int32_t passes = 0;
    const auto lane = fakes::make_fake_lane(world_, 3, [&](int32_t level, float*) {
      ++passes;
      if (level == when) cancelled.cancelled = true;
    });
    const std::vector<int32_t> order = run(*lane);
    EXPECT_EQ(passes, 3);
    for (const int32_t other : {0, 2})
      EXPECT_EQ(requests_[static_cast<size_t>(other)]->found, by_hand(*requests_[static_cast<size_t>(other)])) << when;
    if (when == 2) {  // the last level: nothing is left to spare
      EXPECT_EQ(cancelled.found, by_hand(cancelled));
    } else {
      EXPECT_EQ(cancelled.found.status, SIDBEAM_CANCELLED);
      EXPECT_NE(cancelled.found.message.find("cancelled"), std::string::npos);
      EXPECT_TRUE(cancelled.found.sids.empty());
      EXPECT_EQ(order[0], 1) << "it need not wait for the others";
    }
  }
}

TEST_F(LaneTest, WithNothingLeftToRunABatchEnds) {
  make_world({5, 6, 7}, 80, 4);
  int32_t passes = 0;
  for (const int32_t prompt : {1, 2}) add({prompt});
  const auto lane = fakes::make_fake_lane(world_, 2, [&](int32_t, float*) {
    ++passes;
    for (const auto& request : requests_) request->cancelled = true;
  });
  run(*lane);
  EXPECT_EQ(passes, 1);
}

TEST_F(LaneTest, BadLogitsFailTheirRequestAlone) {
  make_world({5, 6, 7}, 80, 4);
  for (const int32_t prompt : {1, 2, 3}) add({prompt});
  const auto lane = fakes::make_fake_lane(world_, 3, [&](int32_t level, float* logits) {
    if (level == 0) logits[world_.tokens + 4] = std::nanf("");  // of the second request
  });
  run(*lane);
  EXPECT_EQ(requests_[1]->found.status, SIDBEAM_INVALID_ARGUMENT);
  EXPECT_NE(requests_[1]->found.message.find("NaN or +inf"), std::string::npos);
  for (const size_t other : {0U, 2U}) EXPECT_EQ(requests_[other]->found, by_hand(*requests_[other]));
}

TEST_F(LaneTest, AFailingPassFailsAllThatRun) {
  make_world({5, 6, 7}, 80, 4);
  for (const int32_t prompt : {1, 2}) add({prompt});
  bool broken = true;
  const auto lane = fakes::make_fake_lane(world_, 2, [&](int32_t level, float*) {
    if (level == 1 && broken) fail(SIDBEAM_DEVICE_ERROR, "the device fell off");
  });
  run(*lane);
  for (const auto& request : requests_) {
    EXPECT_EQ(request->found.status, SIDBEAM_DEVICE_ERROR);
    EXPECT_EQ(request->found.message, "the device fell off");
    request->endings = 0;
  }
  broken = false;
  run(*lane);
  for (const auto& request : requests_) EXPECT_EQ(request->found, by_hand(*request));
}

TEST_F(LaneTest, AConstraintWithoutWhatTheStrategyNeedsFailsItsRequestAlone) {
  kinds_ = SIDBEAM_KIND_SORTED;
  world_.strategy = SIDBEAM_STRATEGY_SORTED;
  make_world({5, 6, 7}, 80, 4);
  const handles::Constraint trie = fakes::make_constraint(world_.runtime.get(), world_.codes, 80, 2);
  for (const int32_t prompt : {1, 2, 3}) add({prompt});
  requests_[0]->constraint = trie.get();
  const auto lane = fakes::make_fake_lane(world_, 3);
  run(*lane);
  EXPECT_EQ(requests_[0]->found.status, SIDBEAM_MISSING_SECTION);
  EXPECT_NE(requests_[0]->found.message, "");
  for (const size_t other : {1U, 2U}) EXPECT_EQ(requests_[other]->found, by_hand(*requests_[other]));
}

struct Adjustments {
  World* world;
  int32_t calls = 0, end_at = -1;
  int64_t end_request = 0;
};

// Forbids the best code of level 0 by its column, for request 2.
int32_t adjust(void* context, const sidbeam_level* level) {
  auto& seen = *static_cast<Adjustments*>(context);
  ++seen.calls;
  EXPECT_EQ(level->struct_size, sizeof(sidbeam_level));
  EXPECT_EQ(level->columns, seen.world->output->columns(level->level));
  EXPECT_EQ(level->rows, level->level == 0 ? 1 : level->beams->active[level->slot]);
  EXPECT_EQ(level->beams->level[level->slot], level->level);
  EXPECT_EQ(level->stream, nullptr);
  EXPECT_EQ(static_cast<const Request*>(level->request_context)->constraint, level->constraint);
  // A row has the logits of its beam's path.
  const Request& request = *static_cast<const Request*>(level->request_context);
  sidbeam_vocabulary columns = *level->columns_of;
  for (int64_t row = 0; row < level->rows; ++row) {
    EXPECT_TRUE(row == 0 || level->row_beams[row] > level->row_beams[row - 1]);
    if (level->level != 1) continue;
    const int32_t code = level->beams->codes[level->slot * level->beams->beams + level->row_beams[row]];
    const Codes path = {static_cast<int32_t>(seen.world->offsets[0] + code)};
    EXPECT_EQ(level->logits[row * level->row_stride + 2], seen.world->element(request.prompt, path, 1, 2));
  }
  if (level->level == 0 && level->request == 2) level->logits[columns.offsets[0] + 3] = 100.0f;
  return level->level == seen.end_at && level->request == seen.end_request ? 1 : 0;
}

TEST_F(LaneTest, TheHostMayChangeTheLogitsOfALevel) {
  for (const int32_t normalization : {SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL}) {
    requests_.clear();
    world_.normalization = normalization;
    make_world({5, 6, 7}, 150, 4);
    for (const int32_t prompt : {1, 2, 3}) add({prompt});
    Adjustments seen{&world_};
    const auto lane = fakes::make_fake_lane(world_, 3, {}, default_allocator(), adjust, &seen);
    run(*lane);
    EXPECT_EQ(seen.calls, 9);
    for (const size_t other : {0U, 2U}) EXPECT_EQ(requests_[other]->found, by_hand(*requests_[other]));
    EXPECT_EQ(requests_[1]->found.status, SIDBEAM_OK);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(requests_[1]->found.sids[static_cast<size_t>(3 * i)], 3);
  }
}

TEST_F(LaneTest, TheHostMayEndARequestAtALevel) {
  for (int32_t level = 0; level < 3; ++level) {
    requests_.clear();
    make_world({5, 6, 7}, 150, 4);
    for (const int32_t prompt : {1, 2, 3}) add({prompt});
    Adjustments seen{&world_, 0, level, 3};
    const auto lane = fakes::make_fake_lane(world_, 3, {}, default_allocator(), adjust, &seen);
    run(*lane);
    EXPECT_EQ(requests_[2]->found.status, SIDBEAM_CANCELLED);
    EXPECT_NE(requests_[2]->found.message.find("config.adjust"), std::string::npos);
    EXPECT_EQ(requests_[0]->found, by_hand(*requests_[0]));
  }
}

// -inf everywhere: no candidates, which is no error. The request is done at once, and leaves the rows.
TEST_F(LaneTest, ARequestWithoutCandidatesIsDoneEarly) {
  make_world({5, 6, 7}, 80, 4);
  for (const int32_t prompt : {1, 2}) add({prompt});
  const auto lane = fakes::make_fake_lane(world_, 2, [&](int32_t level, float* logits) {
    if (level == 0)
      for (int64_t c = 0; c < world_.tokens; ++c) logits[c] = -std::numeric_limits<float>::infinity();
  });
  EXPECT_EQ(run(*lane), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(requests_[0]->found.status, SIDBEAM_OK);
  EXPECT_TRUE(requests_[0]->found.sids.empty());
  EXPECT_EQ(requests_[1]->found, by_hand(*requests_[1]));
}

TEST_F(LaneTest, TheCallersFloatModeDoesNotMatter) {
  make_world({5, 6, 7}, 80, 4);
  Request& request = add({1});
  volatile float sum = 1.0f;
  const auto lane = fakes::make_fake_lane(world_, 1, [&](int32_t, float*) { sum = sum + 1e-10f; });
  std::fesetround(FE_UPWARD);
  run(*lane);
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(sum, 1.0f);
  EXPECT_EQ(after, FE_UPWARD);
  EXPECT_EQ(request.found, by_hand(request));
}

TEST_F(LaneTest, MoreBeamsInAllThanAnInt32CountsAreRefused) {
  make_world({5, 6}, 10, 4096);
  try {
    fakes::make_fake_lane(world_, 1 << 20);
    FAIL() << "expected a failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(failure.message, "config.batch_requests * config.beams"), nullptr);
  }
}

}  // namespace
}  // namespace sidbeam::runner
