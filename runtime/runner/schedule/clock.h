// The runner's time and threads, which tests replace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace sidbeam::runner {

class Clock {
 public:
  virtual int64_t now() = 0;  // nanoseconds, never falling
  // Waits until `changed` is notified or the time has come (kNever: it never does), or for less.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int64_t until) = 0;
  // Everything that wakes and starts threads passes here, so that a test can decide which of them goes on.
  virtual void notify_one(std::condition_variable& changed) { changed.notify_one(); }
  virtual void notify_all(std::condition_variable& changed) { changed.notify_all(); }
  // Throws std::system_error. One that is not joinable ends by itself.
  virtual std::thread start(void (*work)(void* data), void* data) { return std::thread(work, data); }

 protected:
  ~Clock() = default;
};

// The system's, which no setting of the date moves.
Clock& steady_clock();

}  // namespace sidbeam::runner
