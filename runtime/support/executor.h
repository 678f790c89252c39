// Threads for work of microseconds: a step's. (parallel.h starts threads for work of milliseconds.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sidbeam {

using TaskFunction = void (*)(void* data, int32_t i);

class Executor {
 public:
  virtual ~Executor() = default;
  // Tasks that may run at a time, the caller's thread included.
  virtual int32_t width() const = 0;
  // Calls task(data, i) for every i in [0, count) and returns when all have returned. Tasks do not throw. From any
  // thread, several at a time.
  virtual void run(int32_t count, TaskFunction task, void* data) = 0;
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

// Threads of our own, which spin for some microseconds after work, then sleep. One call uses them at a time; the others
// meanwhile run on their caller's thread alone, so that steps of many sessions never make more threads than that.
class SpinPool final : public Executor {
 public:
  // Starts width - 1 threads; fewer where the system refuses (width() tells).
  explicit SpinPool(int32_t width);
  ~SpinPool() override;
  int32_t width() const override { return static_cast<int32_t>(threads_.size()) + 1; }
  void run(int32_t count, TaskFunction task, void* data) override;

 private:
  void work();
  bool run_one(uint64_t ticket);

  // Number of the call (32 bits), tasks in it (16), the next one to be taken (16): who takes one by compare-exchange
  // knows that its call is still under way, and that task_ and data_ are of that call.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  // Apart from what the caller writes for each call: a thread that waits reads nothing but the ticket.
  alignas(64) std::atomic<int32_t> running_{0};  // tasks of the call that have not returned
  TaskFunction task_ = nullptr;
  void* data_ = nullptr;
  alignas(64) std::atomic<bool> busy_{false}, stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace sidbeam
