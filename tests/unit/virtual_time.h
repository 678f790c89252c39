// Threads on a clock of their own: one of them runs at a time, and time passes only when all wait. What a runner does
// is then the same in every run, however many lanes it has and however busy the machine is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

#include "runner/schedule/clock.h"
#include "runner/schedule/queue.h"

namespace sidbeam::runner::fakes {

// One thread drives the others. They call wait() and sleep(), and must not block otherwise.
class VirtualTime final : public Clock {
 public:
  int64_t now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  // Wakes whenever anything has happened.
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int64_t until) override {
    {
      std::unique_lock own(mutex_);
      if (!over_) {
        lock.unlock();
        block(own, until, false);
        own.unlock();
        lock.lock();
        return;
      }
    }
    changed.wait_for(lock, std::chrono::milliseconds(1));
  }

  void sleep(int64_t time) {
    std::unique_lock own(mutex_);
    if (!over_) block(own, now_ + time, true);
  }

  // Waits until so many threads have blocked for the first time.
  void expect(int32_t threads) {
    std::unique_lock own(mutex_);
    running_ += threads;
    stopped_.wait(own, [this] { return running_ == 0; });
  }

  // Lets all happen that happens until then.
  void advance(int64_t until) {
    std::unique_lock own(mutex_);
    for (;;) {
      poll(own);
      const auto next = std::min_element(blocked_.begin(), blocked_.end(),
                                         [](const Blocked* a, const Blocked* b) { return a->until < b->until; });
      if (next == blocked_.end() || (*next)->until > until) break;
      now_ = std::max(now_, (*next)->until);
      resume(own, next);
    }
    now_ = std::max(now_, until);
  }

  // From here on threads run as they like, and time stands still.
  void end() {
    const std::lock_guard own(mutex_);
    over_ = true;
    for (Blocked* blocked : blocked_) blocked->resume();
    blocked_.clear();
  }

 private:
  struct Blocked {
    int64_t until;
    bool sleeps;
    bool resumed = false;
    std::condition_variable changed{};

    void resume() {
      resumed = true;
      changed.notify_one();
    }
  };
  using Place = std::list<Blocked*>::iterator;

  void block(std::unique_lock<std::mutex>& own, int64_t until, bool sleeps) {
    Blocked self{until, sleeps};
    blocked_.push_back(&self);
    if (sleeps) ++begun_;
    --running_;
    stopped_.notify_one();
    self.changed.wait(own, [&self] { return self.resumed; });
  }

  // Runs one until it blocks again.
  void resume(std::unique_lock<std::mutex>& own, Place at) {
    Blocked* blocked = *at;
    blocked_.erase(at);
    ++running_;
    blocked->resume();
    stopped_.wait(own, [this] { return running_ == 0; });
  }

  // Lets all that wait look, until none of them has found something to do.
  void poll(std::unique_lock<std::mutex>& own) {
    for (int64_t before = -1; before != begun_;) {
      before = begun_;
      const auto waiting = std::count_if(blocked_.begin(), blocked_.end(), [](const Blocked* b) { return !b->sleeps; });
      for (auto left = waiting; left > 0; --left) {  // those that block again go to the end
        const auto next = std::find_if(blocked_.begin(), blocked_.end(), [](const Blocked* b) { return !b->sleeps; });
        if (next != blocked_.end()) resume(own, next);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable stopped_;
  std::list<Blocked*> blocked_;
  int64_t now_ = 0, begun_ = 0;
  int32_t running_ = 0;
  bool over_ = false;
};

}  // namespace sidbeam::runner::fakes
