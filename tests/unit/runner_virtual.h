// A runner on a virtual clock and one thread, which a test drives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/schedule/runner.h"
#include "runner_fakes.h"
#include "support/error.h"

namespace sidbeam::runner {

inline constexpr int64_t kUs = 1000;

// Time passes only where somebody waits or works; what is due on the way happens then.
class VirtualClock final : public Clock {
 public:
  int64_t now() override { return now_; }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable&, int64_t until) override {
    ASSERT_TRUE(until != kNever || !events_.empty()) << "nobody would ever wake this thread";
    lock.unlock();
    const int64_t event = events_.empty() ? kNever : events_.begin()->first;
    advance(std::min(until, event));
    lock.lock();
  }
  void at(int64_t time, std::function<void()> event) { events_.emplace(time, std::move(event)); }
  void advance(int64_t until) {
    while (!events_.empty() && events_.begin()->first <= until) {
      const auto event = events_.begin();
      now_ = std::max(now_, event->first);
      const std::function<void()> happen = std::move(event->second);
      events_.erase(event);
      happen();
    }
    now_ = std::max(now_, until);
  }
  void advance_by(int64_t time) { advance(now_ + time); }
  bool has_events() const { return !events_.empty(); }

 private:
  int64_t now_ = 0;
  std::multimap<int64_t, std::function<void()>> events_;
};

// Takes its time, and looks for cancellation between three levels.
class SlowLane final : public Lane {
 public:
  SlowLane(VirtualClock& clock, int64_t level_time) : clock_(clock), level_time_(level_time) {}
  void run(const Job* jobs, int32_t count, Ended& ended) noexcept override {
    std::vector<bool> over(static_cast<size_t>(count));
    for (int level = 0; level < 3; ++level) {
      for (int32_t i = 0; i < count; ++i) {
        if (over[static_cast<size_t>(i)] || !*jobs[i].cancelled) continue;
        over[static_cast<size_t>(i)] = true;
        ended.ended(i, {SIDBEAM_CANCELLED, "cancelled at a level"});
      }
      clock_.advance_by(level_time_);
    }
    for (int32_t i = 0; i < count; ++i) {
      if (!over[static_cast<size_t>(i)]) ended.ended(i, {SIDBEAM_OK, "", 0, jobs[i].prompt.tokens});
    }
  }
  int32_t levels() const override { return 3; }
  int64_t memory_bytes() const override { return 5000; }

 private:
  VirtualClock& clock_;
  int64_t level_time_;
};

struct DestroyRunner {
  void operator()(Runner* runner) const { Runner::destroy(runner); }
};

// One that asks a test for tasks, and a record of what was done.
class RunnerTest : public ::testing::Test {
 protected:
  struct Record {
    RunnerTest* test;
    int32_t name, calls = 0, batch = 0;
    sidbeam_status status = -1;
    std::string message;
    int64_t number = 0, queued_us = 0, run_us = 0, time = 0;
    std::function<void()> then;
  };

  RunnerTest() {
    config_.allocator = default_allocator();
    config_.prompt_tokens = 8;
    config_.decode_rows = 10;
    config_.post = [](void* context, void (*task)(void*), void* data) {
      auto& test = *static_cast<RunnerTest*>(context);
      if (test.refuse_posts_) return 0;
      test.tasks_.emplace_back(task, data);
      return 1;
    };
    config_.post_context = this;
    config_.clock = &clock_;
    constraint_ = fakes::make_constraint(runtime_.get(), {3, 3, 3}, 5, 1);
  }
  ~RunnerTest() override {
    pump();
    runner_.reset();
    for (const auto& record : records_) EXPECT_LE(record->calls, 1);
  }

  void make(int32_t lanes = 1, int64_t level_time = 100 * kUs) {
    std::vector<std::unique_ptr<Lane>> all;
    for (int32_t i = 0; i < lanes; ++i) all.push_back(std::make_unique<SlowLane>(clock_, level_time));
    runner_.reset(new Runner(config_, std::move(all)));
  }
  // Runs what was posted, then what it posted, until there is nothing.
  void pump() {
    while (!tasks_.empty()) {
      const auto [task, data] = tasks_.front();
      tasks_.pop_front();
      task(data);
    }
  }

  sidbeam_request request(Record& record, int32_t priority, int64_t deadline_us) {
    static const int32_t tokens[8] = {};
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.beams = 1;
    request.tokens = tokens;
    request.positions = 5;
    request.group = 1;
    request.priority = priority;
    request.deadline_us = deadline_us;
    request.constraint = constraint_.get();
    request.context = &record;
    request.done = [](void* context, const sidbeam_result* result) {
      auto& done = *static_cast<Record*>(context);
      ++done.calls;
      done.status = result->status;
      done.message = result->message;
      done.number = result->request;
      done.queued_us = result->queued_us;
      done.run_us = result->run_us;
      done.batch = result->batch;
      done.time = done.test->clock_.now();
      done.test->order_.push_back(done.name);
      if (done.then) done.then();
    };
    return request;
  }
  Record& record() {
    records_.push_back(std::make_unique<Record>());
    records_.back()->test = this;
    records_.back()->name = static_cast<int32_t>(records_.size());
    return *records_.back();
  }
  Record& submit(int32_t priority = 0, int64_t deadline_us = 0) {
    Record& taken = record();
    taken.number = -runner_->submit(request(taken, priority, deadline_us));
    return taken;
  }
  Record& run(int32_t priority = 0, int64_t deadline_us = 0) {
    Record& taken = record();
    runner_->run(request(taken, priority, deadline_us));
    return taken;
  }

  template <class Call>
  void expect_failure(sidbeam_status status, const char* phrase, const Call& call) {
    try {
      call();
      ADD_FAILURE() << "expected a failure: " << phrase;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, status) << failure.message;
      EXPECT_NE(std::strstr(failure.message, phrase), nullptr) << failure.message;
    }
  }

  VirtualClock clock_;
  handles::Runtime runtime_ = fakes::make_runtime();
  handles::Constraint constraint_;
  RunnerConfig config_;
  std::deque<std::pair<void (*)(void*), void*>> tasks_;
  bool refuse_posts_ = false;
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<int32_t> order_;
  std::unique_ptr<Runner, DestroyRunner> runner_;
};

using Order = std::vector<int32_t>;

}  // namespace sidbeam::runner
