// Threads are started for each call: a build makes a few dozen calls of milliseconds to seconds, so a pool would gain
// nothing and would have to survive fork.
// SPDX-License-Identifier: Apache-2.0
#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace sidbeam {
namespace {

struct Work {
  Work(int64_t task_count, void (*function)(void*, int64_t), void* argument)
      : tasks(task_count), task(function), context(argument) {}
  int64_t tasks;
  void (*task)(void*, int64_t);
  void* context;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;
  int64_t error_task = 0;

  void run() noexcept {
    while (!stop.load(std::memory_order_relaxed)) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      try {
        task(context, i);
      } catch (...) {
        keep(i, std::current_exception());
      }
    }
  }

  void keep(int64_t i, std::exception_ptr thrown) noexcept {
    stop.store(true, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(mutex);
    if (error && error_task < i) return;
    error = std::move(thrown);
    error_task = i;
  }
};

}  // namespace

int thread_count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_tasks(int threads, int64_t tasks, void (*task)(void*, int64_t), void* context) {
  const int64_t helpers = std::min<int64_t>(threads, tasks) - 1;
  if (helpers <= 0) {
    for (int64_t i = 0; i < tasks; ++i) task(context, i);
    return;
  }
  Work work(tasks, task, context);
  std::vector<std::thread> started;
  started.reserve(static_cast<size_t>(helpers));
  try {
    for (int64_t i = 0; i < helpers; ++i) started.emplace_back([&work] { work.run(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work.run();
  for (std::thread& thread : started) thread.join();
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace sidbeam
