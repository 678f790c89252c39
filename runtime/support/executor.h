// Threads for work that takes microseconds: a step. (parallel.h starts threads for work that takes milliseconds.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "support/process.h"

namespace sidbeam {

// Pauses between two polls of memory that another core will write.
void pause_briefly();

using TaskFunction = void (*)(void* data, int32_t i);

class Executor {
 public:
  virtual ~Executor() = default;
  // The number of tasks that may run at a time, including the caller's.
  virtual int32_t width() const = 0;
  // Calls task(data, i) for every i in [0, count) and returns when all calls have returned. Tasks do not throw. May be
  // called from several threads at a time.
  virtual void run(int32_t count, TaskFunction task, void* data) = 0;
  // Restarts the threads that a fork has left behind; until then run() uses only the caller's thread. May allocate.
  virtual void prepare() {}
};

// The host's own threads.
class HostExecutor final : public Executor {
 public:
  using Function = void (*)(void* context, int32_t count, TaskFunction task, void* data);
  HostExecutor(int32_t width, Function function, void* context)
      : width_(width), function_(function), context_(context) {}
  int32_t width() const override { return width_; }
  void run(int32_t count, TaskFunction task, void* data) override { function_(context_, count, task, data); }

 private:
  int32_t width_;
  Function function_;
  void* context_;
};

// The library's own threads, which spin for a while after work and then sleep. One call uses them at a time. Concurrent
// calls run only on their caller's thread, so that steps of many sessions never use more threads than these.
//
// Thread t of T runs tasks t, t + T, .. so that a task's data stays in one core's cache from call to call. The caller
// is thread 0; when its own share is done, it runs the shares that nobody has taken.
class SpinPool final : public Executor {
 public:
  // Starts width - 1 threads, or fewer if the system refuses; see width().
  explicit SpinPool(int32_t width);
  int32_t width() const override { return width_; }
  void run(int32_t count, TaskFunction task, void* data) override;
  void prepare() override { crew_.get(width_); }

 private:
  enum class TaskState : int32_t { kIdle, kAsleep, kOffered, kTaken, kStopped };

  struct Share {
    TaskFunction task = nullptr;
    void* data = nullptr;
    int32_t first = 0, count = 0, stride = 1;

    void run() const {
      for (int64_t i = first; i < count; i += stride) task(data, static_cast<int32_t>(i));
    }
  };

  // A thread and everything it exchanges with a caller, so that only one cache line travels to the thread and back.
  // (Failed alternative: a shared ticket, which the caller wrote while others read it, and which led to the tasks
  // through further lines.) Workers are two lines apart because processors fetch lines in pairs.
  struct alignas(128) Worker {
    std::atomic<TaskState> state{TaskState::kIdle};
    Share share;  // written by the caller while idle or asleep; then belongs to its taker until idle again
    std::thread thread;

    void work();
    TaskState await();
    // Takes and runs the share on offer, if any.
    void serve();
  };

  // The threads, and whether a call is using them. A forked child makes its own.
  struct Crew {
    explicit Crew(int32_t most);
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew();
    void run(int32_t count, TaskFunction task, void* data);

    alignas(64) std::atomic<bool> busy{false};  // only callers touch its line
    int32_t width = 1;
    const std::unique_ptr<Worker[]> workers;  // [width], the first without a thread
  };

  OfProcess<Crew> crew_;
  int32_t width_;
};

}  // namespace sidbeam
