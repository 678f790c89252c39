// Threads for work of microseconds: a step's. (parallel.h starts threads for work of milliseconds.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "support/process.h"

namespace sidbeam {

// Between two looks at what another core will write.
void pause_briefly();

using TaskFunction = void (*)(void* data, int32_t i);

class Executor {
 public:
  virtual ~Executor() = default;
  // Tasks that may run at a time, the caller's thread included.
  virtual int32_t width() const = 0;
  // Calls task(data, i) for every i in [0, count) and returns when all have returned. Tasks do not throw. From any
  // thread, several at a time.
  virtual void run(int32_t count, TaskFunction task, void* data) = 0;
  // Brings back the threads that a fork has left behind; until then run() uses the caller's alone. May take memory.
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

// Threads of our own, which spin for some time after work, then sleep. One call uses them at a time; the others
// meanwhile run on their caller's thread alone, so that steps of many sessions never make more threads than that.
//
// Thread t of T runs tasks t, t + T, ..: what a task works on stays in the cache of one core from call to call. The
// caller is thread 0, and runs the shares that nobody has taken when its own is done.
class SpinPool final : public Executor {
 public:
  // Starts width - 1 threads; fewer where the system refuses (width() tells).
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

  // A thread, and all that it and a caller tell each other: one line goes over, and comes back. (A ticket that all take
  // tasks from was written by the caller while others read it, and led to the tasks by other lines.) Two lines apart
  // from the next, since processors fetch lines in pairs.
  struct alignas(128) Worker {
    std::atomic<TaskState> state{TaskState::kIdle};
    Share share;  // the caller's to write while idle or asleep; of who took it until idle again
    std::thread thread;

    void work();
    TaskState await();
    // Takes the share that is offered, if one is, and runs it.
    void serve();
  };

  // The threads, and whether a call uses them: what a forked child has no use for.
  struct Crew {
    explicit Crew(int32_t most);
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew();
    void run(int32_t count, TaskFunction task, void* data);

    alignas(64) std::atomic<bool> busy{false};  // its line is the callers' alone
    int32_t width = 1;
    const std::unique_ptr<Worker[]> workers;  // [width], the first without a thread
  };

  OfProcess<Crew> crew_;
  int32_t width_;
};

}  // namespace sidbeam
