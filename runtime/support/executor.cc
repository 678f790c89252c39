// SPDX-License-Identifier: Apache-2.0
#include "support/executor.h"

#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sidbeam {
namespace {

constexpr int kSpins = 2000;  // of some 40 ns: about the time between two steps whose logits are at hand

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

uint32_t next_of(uint64_t ticket) { return ticket & 0xFFFF; }
uint32_t count_of(uint64_t ticket) { return ticket >> 16 & 0xFFFF; }

}  // namespace

SpinPool::SpinPool(int32_t width) {
  threads_.reserve(static_cast<size_t>(width) - 1);
  try {
    for (int32_t i = 1; i < width; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // As many as there are.
  }
}

SpinPool::~SpinPool() {
  stop_.store(true);
  ticket_.fetch_add(uint64_t{1} << 32);
  ticket_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Takes the next task of the ticket's call, if there is one, and runs it.
bool SpinPool::run_one(uint64_t ticket) {
  while (next_of(ticket) < count_of(ticket)) {
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    task_(data_, static_cast<int32_t>(next_of(ticket)));
    running_.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

void SpinPool::work() {
  while (!stop_.load(std::memory_order_relaxed)) {
    uint64_t seen = ticket_.load(std::memory_order_acquire);
    bool ran = run_one(seen);
    for (int spin = 0; !ran && spin < kSpins; ++spin) {
      pause_briefly();
      seen = ticket_.load(std::memory_order_acquire);
      ran = run_one(seen);
    }
    if (!ran && !stop_.load()) ticket_.wait(seen);
  }
}

void SpinPool::run(int32_t count, TaskFunction task, void* data) {
  if (count <= 1 || count > 0xFFFF || threads_.empty() || busy_.exchange(true, std::memory_order_acquire)) {
    for (int32_t i = 0; i < count; ++i) task(data, i);
    return;
  }
  task_ = task;
  data_ = data;
  running_.store(count, std::memory_order_relaxed);
  const uint64_t call = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(call << 32 | static_cast<uint64_t>(count) << 16, std::memory_order_release);
  ticket_.notify_all();
  while (run_one(ticket_.load(std::memory_order_acquire))) {
  }
  while (running_.load(std::memory_order_acquire) != 0) pause_briefly();
  busy_.store(false, std::memory_order_release);
}

}  // namespace sidbeam
