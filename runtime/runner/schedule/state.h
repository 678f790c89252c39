// What the runner's sources share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/runner.h"

namespace sidbeam::runner {

inline constexpr const char* kTooLate = "request.deadline_us passed before the request could start";

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

 private:
  const Runner* runner_;
  const WithinCallback* outer_;
};

}  // namespace sidbeam::runner
