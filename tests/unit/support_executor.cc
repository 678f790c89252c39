// The threads of a step: every task runs once, whoever runs it. SPDX-License-Identifier: Apache-2.0
#include "support/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace sidbeam {
namespace {

// Calls body(i) on the executor.
template <class Body>
void run(Executor& executor, int32_t count, Body body) {
  executor.run(
      count, [](void* data, int32_t i) { (*static_cast<Body*>(data))(i); }, &body);
}

void expect_every_task_once(Executor& executor, int32_t count) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
  std::atomic<int> strays{0};
  run(executor, count, [&](int32_t i) { ++(i >= 0 && i < count ? runs[static_cast<size_t>(i)] : strays); });
  int wrong = strays;
  for (const auto& times : runs) wrong += times == 1 ? 0 : 1;
  EXPECT_EQ(wrong, 0) << "of " << count << " tasks on " << executor.width() << " threads";
}

// One task per thread. Each calls body(i), then waits for all: returns only if that many threads run at a time.
template <class Body>
void meet(Executor& executor, Body body) {
  std::atomic<int32_t> there{0};
  run(executor, executor.width(), [&](int32_t i) {
    body(i);
    ++there;
    while (there < executor.width()) std::this_thread::yield();
  });
}

void meet(Executor& executor) {
  meet(executor, [](int32_t) {});
}

// Work of some milliseconds, during which threads without work go to sleep.
void work_for_long() {
  std::atomic<uint64_t> state{1};  // so that the loop stays
  for (int i = 0; i < 300000; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
  EXPECT_NE(state, 0U);
}

TEST(SpinPool, RunsEveryTaskOnce) {
  for (const int32_t width : {1, 2, 5}) {
    SpinPool pool(width);
    EXPECT_EQ(pool.width(), width);
    for (const int32_t count : {0, 1, 2, width, width + 1, 1000, 70000}) expect_every_task_once(pool, count);
  }
}

TEST(SpinPool, ShortCallsFollowEachOther) {
  SpinPool pool(3);
  for (int32_t call = 0; call < 3000; ++call) expect_every_task_once(pool, call % 7);
}

TEST(SpinPool, AsManyRunAtATimeAsItIsWide) {
  SpinPool pool(4);
  for (int round = 0; round < 100; ++round) meet(pool);
}

TEST(SpinPool, EachThreadKeepsItsTasks) {
  SpinPool pool(3);
  std::vector<std::thread::id> first(3);
  const auto own_thread = [&](int32_t i) { return &first[static_cast<size_t>(i)]; };
  meet(pool, [&](int32_t i) { *own_thread(i) = std::this_thread::get_id(); });
  EXPECT_EQ(first[0], std::this_thread::get_id());
  std::atomic<int> moved{0};
  for (int round = 0; round < 100; ++round)
    meet(pool, [&](int32_t i) { moved += *own_thread(i) == std::this_thread::get_id() ? 0 : 1; });
  EXPECT_EQ(moved, 0);
}

TEST(SpinPool, WakesWhatSleeps) {
  SpinPool pool(3);
  for (int round = 0; round < 10; ++round) {
    work_for_long();
    meet(pool);
    expect_every_task_once(pool, 20);
  }
}

TEST(SpinPool, WhileBusyOtherCallsStayOnTheirCallers) {
  SpinPool pool(3);
  std::atomic<int> elsewhere{0};
  run(pool, 3, [&](int32_t) {
    const std::thread::id caller = std::this_thread::get_id();
    int32_t next = 0;  // in order, as on one thread
    run(pool, 50, [&](int32_t i) { elsewhere += std::this_thread::get_id() == caller && i == next++ ? 0 : 1; });
    elsewhere += next == 50 ? 0 : 1;
  });
  EXPECT_EQ(elsewhere, 0);
}

TEST(SpinPool, ServesManyCallers) {
  SpinPool pool(3);
  std::vector<std::thread> callers;
  for (int32_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool, caller] {
      for (int32_t call = 0; call < 300; ++call) expect_every_task_once(pool, (caller + call) % 40);
    });
  }
  for (std::thread& caller : callers) caller.join();
  meet(pool);  // free again
}

TEST(SpinPool, EndsWhileIdle) {
  for (int round = 0; round < 30; ++round) {
    const SpinPool never_used(4);
    SpinPool used(4);
    expect_every_task_once(used, 4);
  }
  SpinPool asleep(4);
  expect_every_task_once(asleep, 4);
  work_for_long();
}

TEST(HostExecutor, PassesEverythingOn) {
  std::vector<std::pair<int32_t, void*>> calls;
  HostExecutor executor(
      6,
      [](void* context, int32_t count, TaskFunction task, void* data) {
        static_cast<std::vector<std::pair<int32_t, void*>>*>(context)->emplace_back(count, data);
        for (int32_t i = count - 1; i >= 0; --i) task(data, i);
      },
      &calls);
  EXPECT_EQ(executor.width(), 6);
  int sum = 0;
  executor.run(
      4, [](void* data, int32_t i) { *static_cast<int*>(data) = *static_cast<int*>(data) * 10 + i; }, &sum);
  EXPECT_EQ(sum, 3210);
  EXPECT_EQ(calls, (std::vector<std::pair<int32_t, void*>>{{4, &sum}}));
}

}  // namespace
}  // namespace sidbeam
