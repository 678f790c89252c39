// Who runs requests and what they may call meanwhile: callers, the host's tasks, callbacks; closing, draining, a fork.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "runner_virtual.h"

namespace sidbeam::runner {
namespace {

TEST_F(RunnerTest, CallersRunTheirOwnRequests) {
  config_.post = nullptr;
  make();
  const Record& taken = run();
  EXPECT_EQ(taken.status, SIDBEAM_OK);
  EXPECT_EQ(taken.run_us, 300);
  expect_failure(SIDBEAM_BAD_STATE, "config.lane_threads or config.post", [&] { submit(); });
  EXPECT_EQ(runner_->stats().finished, 1);
}

TEST_F(RunnerTest, ACallersResultIsTheStatusOfItsCall) {
  make();
  clock_.at(150 * kUs, [this] { runner_->cancel(1); });
  expect_failure(SIDBEAM_CANCELLED, "cancelled at a level", [&] { run(); });
  EXPECT_EQ(records_[0]->calls, 1);
}

TEST_F(RunnerTest, WithinAPassIsWithinACallback) {
  make();
  clock_.at(50 * kUs, [this] {
    expect_failure(SIDBEAM_BAD_STATE, "run() within a callback", [&] { run(); });
    expect_failure(SIDBEAM_BAD_STATE, "close() within a callback", [&] { runner_->close(); });
  });
  submit();
  pump();
  EXPECT_EQ(records_[0]->status, SIDBEAM_OK);
  EXPECT_EQ(records_[1]->calls, 0);
}

TEST_F(RunnerTest, CallbacksMaySubmitAndCancelButNotRunDrainOrClose) {
  make();
  Record& first = submit();
  Record& second = submit();
  first.then = [&] {
    expect_failure(SIDBEAM_BAD_STATE, "close() within a callback", [&] { runner_->close(); });
    expect_failure(SIDBEAM_BAD_STATE, "drain() within a callback", [&] { runner_->drain(0); });
    expect_failure(SIDBEAM_BAD_STATE, "run() within a callback", [&] { run(); });
    Runner::destroy(runner_.get());
    runner_->cancel(1);  // itself: nothing is left to cancel
    runner_->cancel(2);
    submit();
  };
  pump();
  EXPECT_EQ(order_, (Order{1, 2, 4}));
  EXPECT_EQ(second.status, SIDBEAM_CANCELLED);
  EXPECT_EQ(records_[3]->status, SIDBEAM_OK);
}

TEST_F(RunnerTest, WithinAnotherRunnersCallbackARunnerMayBeClosed) {
  make();
  std::unique_ptr<Runner, DestroyRunner> other = std::move(runner_);
  make();
  Record& taken = submit();
  taken.then = [&] {
    other->close();
    Record& inner = record();
    // Of the outer one this thread is still within a callback, whatever is between.
    expect_failure(SIDBEAM_BAD_STATE, "the runner is closed", [&] { other->run(request(inner, 0, 0)); });
    expect_failure(SIDBEAM_BAD_STATE, "within a callback", [&] { runner_->close(); });
  };
  pump();
  EXPECT_EQ(taken.calls, 1);
}

TEST_F(RunnerTest, WhereTheHostTakesNoTaskTheRequestFails) {
  make();
  refuse_posts_ = true;
  Record& refused = submit();
  EXPECT_EQ(refused.calls, 1);
  EXPECT_EQ(refused.status, SIDBEAM_BAD_STATE);
  EXPECT_NE(refused.message.find("config.post"), std::string::npos);
  EXPECT_EQ(runner_->stats().failed, 1);
  refuse_posts_ = false;
  submit();
  refuse_posts_ = true;  // one task is there, and will come to all that wait
  submit();
  pump();
  EXPECT_EQ(records_[2]->status, SIDBEAM_OK);
}

TEST_F(RunnerTest, AHostMayRunATaskWithinPost) {
  config_.post = [](void*, void (*task)(void*), void* data) {
    task(data);
    return 1;
  };
  make();
  Record& first = submit();
  EXPECT_EQ(first.status, SIDBEAM_OK);
  Record& second = record();
  second.then = [this] { submit(); };
  runner_->submit(request(second, 0, 0));
  EXPECT_EQ(records_[2]->status, SIDBEAM_OK);
}

TEST_F(RunnerTest, OneTaskIsPostedPerLane) {
  make(3);
  for (int i = 0; i < 5; ++i) submit();
  EXPECT_EQ(tasks_.size(), 1U) << "the first to come asks for the others";
  pump();
  EXPECT_EQ(order_.size(), 5U);
}

TEST_F(RunnerTest, ClosingEndsWhatWaits) {
  make();
  submit();
  submit();
  clock_.at(0, [this] { pump(); });  // the posted task, which close() waits for
  runner_->close();
  EXPECT_EQ(order_, (Order{1, 2}));
  for (const auto& record : records_) {
    EXPECT_EQ(record->status, SIDBEAM_CANCELLED);
    EXPECT_NE(record->message.find("the runner was closed"), std::string::npos);
  }
  expect_failure(SIDBEAM_BAD_STATE, "the runner is closed", [&] { submit(); });
  expect_failure(SIDBEAM_BAD_STATE, "the runner is closed", [&] { run(); });
  runner_->close();
  EXPECT_TRUE(runner_->drain(0));
  EXPECT_EQ(runner_->stats().cancelled, 2);
}

TEST_F(RunnerTest, DrainingWaitsForAllOrForItsTime) {
  make();
  EXPECT_TRUE(runner_->drain(0));
  submit();
  EXPECT_FALSE(runner_->drain(100));
  EXPECT_EQ(clock_.now(), 100 * kUs);
  clock_.at(200 * kUs, [this] { pump(); });
  EXPECT_TRUE(runner_->drain(0));
  EXPECT_EQ(order_, Order{1});
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "timeout_us is -1", [&] { runner_->drain(-1); });
}

TEST_F(RunnerTest, ARequestHoldsItsConstraintUntilItIsDone) {
  make();
  handles::Constraint swapped = fakes::make_constraint(runtime_.get(), {3, 3, 3}, 7, 2);
  Record& taken = record();
  sidbeam_request pinned = request(taken, 0, 0);
  pinned.constraint = swapped.get();
  runner_->submit(pinned);
  swapped.reset();  // ASan would see a use of it
  pump();
  EXPECT_EQ(taken.status, SIDBEAM_OK);
}

TEST_F(RunnerTest, AForkedChildMayOnlyDestroyIt) {
  make();
  const pid_t child = fork();
  if (child == 0) {
    bool right = true;
    const auto refused = [&right](const auto& call) {
      try {
        call();
        right = false;
      } catch (const Failure& failure) {
        right = right && failure.status == SIDBEAM_BAD_STATE && std::strstr(failure.message, "fork") != nullptr;
      }
    };
    refused([&] { submit(); });
    refused([&] { run(); });
    refused([&] { runner_->cancel(1); });
    refused([&] { runner_->drain(0); });
    refused([&] { runner_->close(); });
    refused([&] { runner_->stats(); });
    Runner::destroy(runner_.release());
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

struct FailingMemory {
  int64_t left = 0, held = 0;
  Allocator allocator() {
    return {this,
            [](void* context, int64_t bytes, int64_t alignment) -> void* {
              auto& self = *static_cast<FailingMemory*>(context);
              if (self.left-- <= 0) return nullptr;
              ++self.held;
              return default_allocator().allocate(bytes, alignment);
            },
            [](void* context, void* memory, int64_t bytes, int64_t alignment) {
              --static_cast<FailingMemory*>(context)->held;
              default_allocator().release(memory, bytes, alignment);
            }};
  }
};

TEST(RunnerMemory, RunningOutOfItAtCreationLeavesNothing) {
  fakes::World world;
  world.codes = {4, 4, 4};
  world.constraint = fakes::make_constraint(world.runtime.get(), world.codes, 30, 1);
  world.finish();
  FailingMemory memory;
  bool made = false;
  for (int64_t allocations = 0; !made; ++allocations) {
    ASSERT_LT(allocations, 200);
    memory.left = allocations;
    try {
      std::vector<std::unique_ptr<Lane>> lanes;
      for (int i = 0; i < 2; ++i) lanes.push_back(fakes::make_fake_lane(world, 3, {}, memory.allocator()));
      RunnerConfig config;
      config.allocator = memory.allocator();
      config.prompt_tokens = 8;
      config.lane_threads = true;
      Runner::destroy(new Runner(config, std::move(lanes)));
      made = true;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_OUT_OF_MEMORY);
    }
    EXPECT_EQ(memory.held, 0);
  }
}

}  // namespace
}  // namespace sidbeam::runner
