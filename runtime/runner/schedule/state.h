// What the runner's sources share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/runner.h"

namespace sidbeam::runner {

inline constexpr const char* kTooLate = "request.deadline_us passed before the request could start";

// The mutex. Nobody lets it go before he has looked whose turn it is.
class Runner::Lock {
 public:
  explicit Lock(Runner& runner) : Lock(runner, std::defer_lock) { lock(); }
  Lock(Runner& runner, std::defer_lock_t) : runner_(runner), held_(runner.mutex_, std::defer_lock) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (held_.owns_lock()) unlock();
  }
  void lock() { held_.lock(); }
  void unlock() {
    runner_.settle(*this);
    held_.unlock();
  }
  // Until `changed` is notified or the time has come, or for less: not at all if looking may have changed what is
  // waited for.
  void wait(std::condition_variable& changed, int64_t until) {
    if (runner_.changed_) {
      runner_.settle(*this);
    } else {
      runner_.clock_->wait(held_, changed, until);
    }
  }

 private:
  Runner& runner_;
  std::unique_lock<std::mutex> held_;
};

struct Runner::LaneState {
  std::unique_ptr<Lane> lane;
  int32_t next = -1;  // in the list of free lanes
  int32_t count = 0;  // requests of the batch
  int64_t started = 0;
  Buffer<int32_t> entries;  // [count]
  Buffer<Job> jobs;         // [count]
};

// Marks a thread that is within a call to the host on behalf of a runner, or runs a lane, from which it may be called.
class WithinCallback {
 public:
  explicit WithinCallback(const Runner* runner);
  WithinCallback(const WithinCallback&) = delete;
  WithinCallback& operator=(const WithinCallback&) = delete;
  ~WithinCallback();
  // Whether this thread is within a callback of that runner, however many others are between.
  static bool of(const Runner* runner);
  // Of this thread. A test that runs several threads' calls on one gives each its own.
  static const WithinCallback*& innermost();

 private:
  const Runner* runner_;
  const WithinCallback* outer_;
};

}  // namespace sidbeam::runner
