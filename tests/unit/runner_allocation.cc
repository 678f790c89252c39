// After the first requests a runner allocates nothing. This program's operator new counts.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "models.h"
#include "runner/schedule/runner.h"
#include "runner_fakes.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Not inlined, since g++ would see free() take what operator new gave.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace sidbeam::runner {
namespace {

// Logits of which there is one array.
class StillForward final : public Forward {
 public:
  explicit StillForward(const fakes::World& world, int64_t rows) : world_(world) {
    for (int64_t i = 0; i < rows * world.output->most_columns(); ++i)
      logits_.push_back(static_cast<float>(i * 7919 % 1009) * 0.01f);
  }
  void prefill(const Prompt*, int32_t) override {}
  void decode(const DecodeRows&) override {}
  float* logits(int32_t) override { return logits_.data(); }
  int64_t columns(int32_t level) const override { return world_.output->columns(level); }
  int64_t memory_bytes() const override { return 0; }

 private:
  const fakes::World& world_;
  std::vector<float> logits_;
};

struct Counter {
  std::atomic<int64_t> done{0}, found{0};
};

class RunnerAllocation : public ::testing::Test {
 protected:
  RunnerAllocation() {
    world_.codes = {5, 6, 7};
    world_.beams = 6;
    world_.constraint = fakes::make_constraint(world_.runtime.get(), world_.codes, 80, 1);
    world_.finish();
    config_.allocator = default_allocator();
    config_.prompt_tokens = 8;
    config_.batch.requests = 3;
    request_.tokens = tokens_;
    request_.positions = 8;
    request_.group = 1;
    request_.beams = 6;
    request_.constraint = world_.constraint.get();
    request_.context = &counter_;
    request_.done = [](void* context, const sidbeam_result* result) {
      ++static_cast<Counter*>(context)->done;
      static_cast<Counter*>(context)->found += result->live;
    };
  }
  void make() {
    LaneConfig lane;
    lane.runtime = world_.runtime.get();
    lane.constraint = world_.constraint.get();
    lane.output = world_.output.get();
    lane.requests = 3;
    lane.beams = 6;
    std::vector<std::unique_ptr<Lane>> lanes;
    lanes.push_back(make_lane(default_allocator(), lane, std::make_unique<StillForward>(world_, 18)));
    runner_ = new Runner(config_, std::move(lanes));
  }
  ~RunnerAllocation() override { Runner::destroy(runner_); }
  void expect_none(const std::function<void()>& send) {
    for (int i = 0; i < 3; ++i) send();
    const int64_t before = allocations;
    for (int i = 0; i < 50; ++i) send();
    EXPECT_EQ(allocations - before, 0);
    EXPECT_GT(counter_.found, 0);
  }

  fakes::World world_;
  RunnerConfig config_;
  const int32_t tokens_[8] = {};
  Counter counter_;
  sidbeam_request request_ = SIDBEAM_REQUEST_INIT;
  Runner* runner_ = nullptr;
};

TEST_F(RunnerAllocation, CallersCauseNone) {
  make();
  expect_none([this] { runner_->run(request_); });
}

TEST_F(RunnerAllocation, SubmittedAndCancelledRequestsCauseNone) {
  config_.lane_threads = true;
  make();
  expect_none([this] {
    int64_t last = 0;
    for (int i = 0; i < 5; ++i) last = runner_->submit(request_);
    runner_->cancel(last);
    runner_->drain(0);
  });
  EXPECT_EQ(counter_.done, 53 * 5);
}

TEST(RunnerAllocationOfModels, PassesAllocateNothing) {
  for (const char* name : kModels) {
    const Golden golden(name);
    const Ref<Model> model = open_small(name);
    ModelLane lane(*model, golden, workers_of(), 4);
    std::vector<Prompt> prompts;
    for (const History& history : golden.prompts) prompts.push_back(history.prompt());
    const std::vector<int32_t> requests = {0, 1, 1, 3}, tokens = {5, 6, 7, 8}, slots = {0, 0, 1, 2}, ancestors = slots;
    const int64_t before = allocations;
    lane.forward->prefill(prompts.data(), 4);
    lane.forward->logits(0);
    lane.forward->decode({4, 1, requests.data(), tokens.data(), slots.data(), ancestors.data()});
    lane.forward->logits(1);
    EXPECT_EQ(allocations, before) << name;
  }
}

}  // namespace
}  // namespace sidbeam::runner
