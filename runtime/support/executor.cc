// SPDX-License-Identifier: Apache-2.0
#include "support/executor.h"

#include <algorithm>
#include <chrono>
#include <system_error>

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

bool SpinPool::Worker::serve() {
  State offered = State::kOffered;
  if (state.load(std::memory_order_relaxed) != offered) return false;  // which leaves the line where it is
  if (!state.compare_exchange_strong(offered, State::kTaken, std::memory_order_acquire)) return false;
  share.run();
  state.store(State::kIdle, std::memory_order_release);
  return true;
}

SpinPool::SpinPool(int32_t width) : workers_(std::make_unique<Worker[]>(static_cast<size_t>(width))) {
  try {
    for (; width_ < width; ++width_) {
      Worker& worker = workers_[static_cast<size_t>(width_)];
      worker.thread = std::thread([this, &worker] { work(worker); });
    }
  } catch (const std::system_error&) {
    // As many as there are.
  }
}

SpinPool::~SpinPool() {
  for (int32_t i = 1; i < width_; ++i) workers_[static_cast<size_t>(i)].state.store(State::kStopped);
  calls_.fetch_add(1);
  calls_.notify_all();
  for (int32_t i = 1; i < width_; ++i) workers_[static_cast<size_t>(i)].thread.join();
}

void SpinPool::work(Worker& own) {
  for (State state = own.state.load(); state != State::kStopped; state = await(own))
    if (state == State::kOffered) own.serve();
}

// Spins until there is something to do, and sleeps where nothing comes; then a share may or may not be there.
SpinPool::State SpinPool::await(const Worker& own) {
  for (const Clock::time_point end = Clock::now() + kSpinFor; Clock::now() < end;) {
    for (int spin = 0; spin < kSpinsAtATime; ++spin) {
      const State state = own.state.load(std::memory_order_relaxed);
      if (state != State::kIdle) return state;
      pause_briefly();
    }
  }
  const int32_t calls = calls_.load();  // before the last look: an offer made after it changes the number
  if (own.state.load() == State::kIdle) calls_.wait(calls);
  return own.state.load();
}

void SpinPool::run(int32_t count, TaskFunction task, void* data) {
  if (count <= 1 || width_ == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    Share{task, data, 0, count, 1}.run();
    return;
  }
  const int32_t shares = std::min(count, width_);
  for (int32_t i = 1; i < shares; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.share = {task, data, i, count, width_};
    worker.state.store(State::kOffered, std::memory_order_release);
  }
  calls_.fetch_add(1);  // which threads read before they look for an offer a last time
  calls_.notify_all();
  Share{task, data, 0, count, width_}.run();
  for (int32_t i = 1; i < shares; ++i) workers_[static_cast<size_t>(i)].serve();
  for (int32_t i = 1; i < shares; ++i) {
    const Worker& worker = workers_[static_cast<size_t>(i)];
    while (worker.state.load(std::memory_order_acquire) != State::kIdle) pause_briefly();
  }
  busy_.store(false, std::memory_order_release);
}

}  // namespace sidbeam
