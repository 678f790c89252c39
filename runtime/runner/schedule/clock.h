// The runner's time, which tests replace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sidbeam::runner {

class Clock {
 public:
  virtual int64_t now() = 0;  // nanoseconds, never falling
  // Waits until `changed` is notified or the time has come (kNever: it never does), or for less.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int64_t until) = 0;

 protected:
  ~Clock() = default;
};

// The system's, which no setting of the date moves.
Clock& steady_clock();

}  // namespace sidbeam::runner
