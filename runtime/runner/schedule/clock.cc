// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/clock.h"

#include <chrono>
#include <limits>

namespace sidbeam::runner {
namespace {

class SteadyClock final : public Clock {
 public:
  int64_t now() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int64_t until) override {
    if (until == std::numeric_limits<int64_t>::max()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)));
    }
  }
};

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

}  // namespace sidbeam::runner
