// A runner that many threads use at once. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runner/schedule/runner.h"
#include "runner_fakes.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes;
using fakes::Found;
using fakes::World;

struct DestroyRunner {
  void operator()(Runner* runner) const { Runner::destroy(runner); }
};
using OwnedRunner = std::unique_ptr<Runner, DestroyRunner>;

// One request, and what became of it.
struct Sent {
  Codes prompt = {1};
  std::atomic<int32_t> calls{0};
  int32_t levels = 3;
  Found found;
  int64_t number = 0;
  std::thread::id on;
  std::function<void()> then;

  sidbeam_request request(sidbeam_constraint* constraint, int32_t beams = 4) {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = prompt.data();
    request.positions = static_cast<int64_t>(prompt.size());
    request.group = 1;
    request.beams = beams;
    request.constraint = constraint;
    request.context = this;
    request.done = [](void* context, const sidbeam_result* result) {
      auto& sent = *static_cast<Sent*>(context);
      sent.found = fakes::copy(*result, sent.levels);
      sent.number = result->request;
      sent.on = std::this_thread::get_id();
      if (sent.then) sent.then();
      ++sent.calls;
    };
    return request;
  }
};

sidbeam_status status_of(const std::function<void()>& call) {
  try {
    call();
    return SIDBEAM_OK;
  } catch (const Failure& failure) {
    return failure.status;
  }
}

// Runs tasks of config.post on threads of its own.
class Host {
 public:
  explicit Host(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Host() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  static int32_t post(void* context, void (*task)(void*), void* data) {
    auto& host = *static_cast<Host*>(context);
    const std::lock_guard lock(host.mutex_);
    host.tasks_.emplace_back(task, data);
    host.changed_.notify_one();
    return 1;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto [task, data] = tasks_.back();
      tasks_.pop_back();
      lock.unlock();
      task(data);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<void (*)(void*), void*>> tasks_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

class RunnerThreads : public ::testing::Test {
 protected:
  RunnerThreads() {
    world_.codes = {5, 6, 7};
    world_.constraint = fakes::make_constraint(world_.runtime.get(), world_.codes, 80, 1);
    world_.finish();
    config_.allocator = default_allocator();
    config_.prompt_tokens = 8;
    config_.decode_rows = 8;
  }
  void make(int32_t lanes) {
    std::vector<std::unique_ptr<Lane>> all;
    for (int32_t i = 0; i < lanes; ++i) {
      all.push_back(fakes::make_fake_lane(world_, config_.batch.requests, [this](int32_t level, float*) {
        if (level == 0) arrive_at_gate();
      }));
    }
    runner_.reset(new Runner(config_, std::move(all)));
  }
  // While the gate is shut, a lane stays in its first pass.
  void arrive_at_gate() {
    std::unique_lock lock(mutex_);
    ++at_gate_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --at_gate_;
  }
  void set_gate(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void wait_at_gate() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return at_gate_ > 0; });
  }
  void wait_queued(int32_t count) {
    while (runner_->stats().queued != count) std::this_thread::yield();
  }
  std::thread run(Sent& sent, sidbeam_status& status, int32_t priority = 0, int64_t deadline_us = 0) {
    return std::thread([&, priority, deadline_us] {
      sidbeam_request request = sent.request(world_.constraint.get());
      request.priority = priority;
      request.deadline_us = deadline_us;
      status = status_of([&] { runner_->run(request); });
    });
  }

  World world_;
  RunnerConfig config_;
  OwnedRunner runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int32_t at_gate_ = 0;
};

TEST_F(RunnerThreads, CallersTakeTurnsByPriority) {
  make(1);
  set_gate(false);
  std::mutex mutex;
  std::vector<int> order;
  Sent sent[4];
  sidbeam_status status[4] = {-1, -1, -1, -1};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    sent[i].then = [&, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    };
    threads.push_back(run(sent[i], status[i], i == 2 ? 1 : 0));
    if (i == 0) {
      wait_at_gate();
    } else {
      wait_queued(i);
    }
  }
  set_gate(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 2, 1, 3}));
  const Found expected = fakes::search_by_hand(world_, world_.constraint.get(), {1}, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(status[i], SIDBEAM_OK);
    EXPECT_EQ(sent[i].found, expected);
  }
}

TEST_F(RunnerThreads, ACallerThatWaitsBeyondItsDeadlineReturns) {
  make(1);
  set_gate(false);
  Sent first, late, cancelled;
  sidbeam_status first_status = -1, late_status = -1, cancelled_status = -1;
  std::thread holds = run(first, first_status);
  wait_at_gate();
  run(late, late_status, 0, 1).join();  // while the lane is held
  EXPECT_EQ(late_status, SIDBEAM_DEADLINE_EXCEEDED);
  EXPECT_EQ(late.found.status, SIDBEAM_DEADLINE_EXCEEDED);
  EXPECT_EQ(late.calls, 1);
  std::thread waits = run(cancelled, cancelled_status);
  wait_queued(1);
  runner_->cancel(3);
  EXPECT_EQ(cancelled.calls, 1);
  EXPECT_EQ(cancelled.on, std::this_thread::get_id());
  waits.join();
  EXPECT_EQ(cancelled_status, SIDBEAM_CANCELLED);
  set_gate(true);
  holds.join();
  EXPECT_EQ(first_status, SIDBEAM_OK);
}

TEST_F(RunnerThreads, ClosingLetsRunningRequestsEndAndWaitingCallersReturn) {
  for (const bool threads : {false, true}) {
    config_.lane_threads = threads;
    make(1);
    set_gate(false);
    Sent first, second, third;
    sidbeam_status first_status = -1, second_status = -1;
    std::thread holds = run(first, first_status);
    wait_at_gate();
    std::thread waits = run(second, second_status);
    wait_queued(1);
    if (threads) runner_->submit(third.request(world_.constraint.get()));
    std::thread closer([this] { runner_->close(); }), closer_too([this] { runner_->close(); });
    waits.join();
    EXPECT_EQ(second_status, SIDBEAM_CANCELLED);
    EXPECT_NE(second.found.message.find("closed"), std::string::npos);
    set_gate(true);
    holds.join();
    closer.join();
    closer_too.join();
    EXPECT_EQ(first_status, SIDBEAM_OK);
    EXPECT_EQ(first.calls, 1);
    EXPECT_EQ(second.calls, 1);
    EXPECT_EQ(third.calls, threads ? 1 : 0);
  }
}

TEST_F(RunnerThreads, ALateRequestIsToldWhileCallersHoldAllLanes) {
  config_.lane_threads = true;
  make(1);
  set_gate(false);
  Sent first, late;
  sidbeam_status status = -1;
  std::thread holds = run(first, status);
  wait_at_gate();
  sidbeam_request request = late.request(world_.constraint.get());
  request.deadline_us = 1;
  runner_->submit(request);
  while (late.calls == 0) std::this_thread::yield();
  EXPECT_EQ(late.found.status, SIDBEAM_DEADLINE_EXCEEDED);
  set_gate(true);
  holds.join();
}

TEST_F(RunnerThreads, QuotasEndByThemselves) {
  config_.lane_threads = true;
  config_.batch = {4, 0, 200000};
  make(2);
  for (int round = 0; round < 20; ++round) {
    Sent sent[3];
    for (Sent& s : sent) runner_->submit(s.request(world_.constraint.get()));
    EXPECT_TRUE(runner_->drain(0));
    for (Sent& s : sent) EXPECT_EQ(s.found.status, SIDBEAM_OK);
  }
}

// The same bits whatever the lanes, the batches and the order of arrival, while the catalogue is swapped: a request
// keeps the one that it was sent with.
TEST_F(RunnerThreads, ResultsDependOnTheRequestAlone) {
  std::vector<handles::Constraint> catalogues;
  std::vector<std::vector<Found>> expected;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    catalogues.push_back(fakes::make_constraint(world_.runtime.get(), world_.codes, 60, seed));
    expected.emplace_back();
    for (int32_t prompt = 0; prompt < 10; ++prompt)
      expected.back().push_back(fakes::search_by_hand(world_, catalogues.back().get(), {prompt}, 1 + prompt % 4));
  }
  for (const int32_t lanes : {1, 3}) {
    for (const int32_t batch : {1, 5}) {
      config_.lane_threads = true;
      config_.batch = {batch, 0, batch == 1 ? 0 : 50000};
      make(lanes);
      std::atomic<size_t> current{0};
      std::vector<std::thread> senders;
      std::atomic<int> wrong{0};
      for (int32_t sender = 0; sender < 4; ++sender) {
        senders.emplace_back([&, sender] {
          for (int32_t i = 0; i < 30; ++i) {
            Sent sent;
            const int32_t prompt = (7 * i + sender) % 10;
            sent.prompt = {prompt};
            const size_t catalogue = current;
            const sidbeam_request request = sent.request(catalogues[catalogue].get(), 1 + prompt % 4);
            if (sender == 0) {
              runner_->run(request);
            } else {
              runner_->submit(request);
              while (sent.calls == 0) std::this_thread::yield();
            }
            if (!(sent.found == expected[catalogue][static_cast<size_t>(prompt)])) ++wrong;
            if (sender == 1) current = (current + 1) % catalogues.size();
          }
        });
      }
      for (std::thread& sender : senders) sender.join();
      EXPECT_EQ(wrong, 0) << lanes << " lanes, batches of " << batch;
    }
  }
}

// Submitters, callers, cancellers, and at the end one who closes while they go on.
void storm(World& world, RunnerConfig config, int32_t lanes, uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::vector<std::unique_ptr<Lane>> all;
  for (int32_t i = 0; i < lanes; ++i) all.push_back(fakes::make_fake_lane(world, config.batch.requests));
  const OwnedRunner runner(new Runner(config, std::move(all)));
  constexpr int kSenders = 8, kEach = 150;
  std::vector<std::vector<Sent>> sent(kSenders);
  for (auto& row : sent) row = std::vector<Sent>(kEach);
  std::vector<std::vector<int>> taken(kSenders, std::vector<int>(kEach));
  std::atomic<int64_t> last{0};
  std::atomic<int> ended{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kSenders; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed * 100 + static_cast<uint64_t>(t));
      for (int i = 0; i < kEach; ++i) {
        Sent& one = sent[static_cast<size_t>(t)][static_cast<size_t>(i)];
        sidbeam_request request = one.request(world.constraint.get());
        request.priority = static_cast<int32_t>(random() % 3);
        if (random() % 5 == 0) request.deadline_us = static_cast<int64_t>(1 + random() % 300);
        if (random() % 8 == 0) one.then = [&] { runner->cancel(std::max<int64_t>(1, last - 3)); };
        const bool by_call = t < 2;
        const auto send = [&] {
          if (by_call) {
            runner->run(request);
          } else {
            last = runner->submit(request);
          }
        };
        sidbeam_status status = status_of(send);
        for (; status == SIDBEAM_QUEUE_FULL; status = status_of(send)) std::this_thread::yield();
        // A call's status is the result's, if the request was taken.
        const bool not_taken = status == SIDBEAM_BAD_STATE;
        taken[static_cast<size_t>(t)][static_cast<size_t>(i)] = not_taken ? 0 : 1;
        if (by_call && !not_taken && (one.calls != 1 || one.found.status != status)) ++wrong;
      }
      ++ended;
    });
  }
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed * 100 + 50 + static_cast<uint64_t>(t));
      while (ended < kSenders) {
        const int64_t upper = last;
        if (upper > 0) runner->cancel(std::max<int64_t>(1, upper - static_cast<int64_t>(random() % 8)));
        if (runner->stats().queued < 0) ++wrong;
        std::this_thread::yield();
      }
    });
  }
  while (ended < kSenders && runner->stats().finished < 200) std::this_thread::yield();
  runner->close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  int64_t all_taken = 0;
  for (int t = 0; t < kSenders; ++t) {
    for (int i = 0; i < kEach; ++i) {
      EXPECT_EQ(sent[static_cast<size_t>(t)][static_cast<size_t>(i)].calls,
                taken[static_cast<size_t>(t)][static_cast<size_t>(i)]);
      all_taken += taken[static_cast<size_t>(t)][static_cast<size_t>(i)];
    }
  }
  const sidbeam_runner_stats stats = runner->stats();
  EXPECT_EQ(stats.submitted, all_taken);
  EXPECT_EQ(stats.submitted, stats.finished + stats.cancelled + stats.expired);
  EXPECT_GT(stats.finished, 0);
  EXPECT_EQ(stats.failed, 0);
  EXPECT_EQ(stats.queued, 0);
  EXPECT_EQ(stats.running, 0);
}

TEST_F(RunnerThreads, AStormOnItsOwnThreadsLosesNothing) {
  config_.queue_requests = 20;
  config_.lane_threads = true;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    config_.batch = {static_cast<int32_t>(seed), 0, seed == 1 ? 0 : 30000};
    storm(world_, config_, 2, seed);
  }
}

TEST_F(RunnerThreads, AStormOnTheHostsThreadsLosesNothing) {
  Host host(3);
  config_.queue_requests = 20;
  config_.post = Host::post;
  config_.post_context = &host;
  for (uint64_t seed = 4; seed <= 6; ++seed) {
    config_.batch = {static_cast<int32_t>(seed - 3), 0, seed == 4 ? 0 : 30000};
    storm(world_, config_, 2, seed);
  }
}

}  // namespace
}  // namespace sidbeam::runner
