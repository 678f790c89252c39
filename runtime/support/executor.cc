// SPDX-License-Identifier: Apache-2.0
#include "support/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sidbeam {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kSpinFor{100};  // about the time between two steps whose logits are at hand
constexpr int kSpinsAtATime = 32;                   // between looks at the clock

}  // namespace

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void SpinPool::Worker::serve() {
  TaskState offered = TaskState::kOffered;
  if (state.load(std::memory_order_relaxed) != offered) return;  // a load does not take the line from its owner
  if (!state.compare_exchange_strong(offered, TaskState::kTaken, std::memory_order_acquire)) return;
  share.run();
  state.store(TaskState::kIdle, std::memory_order_release);
}

SpinPool::Crew::Crew(int32_t most) : workers(std::make_unique<Worker[]>(static_cast<size_t>(most))) {
  try {
    for (; width < most; ++width) {
      Worker& worker = workers[static_cast<size_t>(width)];
      worker.thread = std::thread([&worker] { worker.work(); });
    }
  } catch (const std::exception&) {
    // As many as there are.
  }
}

SpinPool::Crew::~Crew() {
  for (int32_t i = 1; i < width; ++i) {
    Worker& worker = workers[static_cast<size_t>(i)];
    worker.state.store(TaskState::kStopped);
    worker.state.notify_one();
    worker.thread.join();
  }
}

void SpinPool::Worker::work() {
  while (await() != TaskState::kStopped) serve();
}

// Spins until there is a share, then sleeps. After sleeping there may or may not be a share.
SpinPool::TaskState SpinPool::Worker::await() {
  for (const Clock::time_point end = Clock::now() + kSpinFor; Clock::now() < end;) {
    for (int spin = 0; spin < kSpinsAtATime; ++spin) {
      const TaskState now = state.load(std::memory_order_relaxed);
      if (now == TaskState::kOffered || now == TaskState::kStopped) return now;
      pause_briefly();
    }
  }
  TaskState idle = TaskState::kIdle;
  if (state.compare_exchange_strong(idle, TaskState::kAsleep)) state.wait(TaskState::kAsleep);
  return state.load();
}

// The caller has made the crew busy.
void SpinPool::Crew::run(int32_t count, TaskFunction task, void* data) {
  const int32_t shares = std::min(count, width);
  // In separate loops, so that the cache lines are transferred together.
  for (int32_t i = 1; i < shares; ++i) workers[static_cast<size_t>(i)].share = {task, data, i, count, width};
  for (int32_t i = 1; i < shares; ++i) {
    std::atomic<TaskState>& state = workers[static_cast<size_t>(i)].state;
    if (state.exchange(TaskState::kOffered) == TaskState::kAsleep) state.notify_one();
  }
  Share{task, data, 0, count, width}.run();
  for (int32_t i = 1; i < shares; ++i) workers[static_cast<size_t>(i)].serve();
  for (int32_t i = 1; i < shares; ++i)
    while (workers[static_cast<size_t>(i)].state.load(std::memory_order_acquire) == TaskState::kTaken) pause_briefly();
}

SpinPool::SpinPool(int32_t width) : width_(crew_.get(width).width) {}

void SpinPool::run(int32_t count, TaskFunction task, void* data) {
  Crew* crew = count > 1 ? crew_.find() : nullptr;
  if (crew == nullptr || crew->width == 1 || crew->busy.exchange(true, std::memory_order_acquire)) {
    Share{task, data, 0, count, 1}.run();
    return;
  }
  crew->run(count, task, data);
  crew->busy.store(false, std::memory_order_release);
}

}  // namespace sidbeam
