// The caller's progress callback: many threads report progress, and one of them calls it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {

// One phase of a build. It belongs to the thread that constructs it, and only that thread calls the callback. advance()
// may be called on any thread and throws CANCELLED once the callback has asked to cancel.
class Progress {
 public:
  Progress(const sidbeam_builder_config& config, int32_t phase, int64_t total)
      : callback_(config.progress),
        context_(config.progress_context),
        phase_(phase),
        total_(total),
        owner_(std::this_thread::get_id()) {
    advance(0);
  }

  void advance(int64_t units) {
    const int64_t done = done_.fetch_add(units, std::memory_order_relaxed) + units;
    if (callback_ != nullptr && std::this_thread::get_id() == owner_ &&
        callback_(context_, phase_, done < total_ ? done : total_, total_) != 0)
      cancelled_.store(true, std::memory_order_relaxed);
    if (cancelled_.load(std::memory_order_relaxed))
      fail(SIDBEAM_CANCELLED, "the build was cancelled by its progress callback");
  }

 private:
  int32_t (*callback_)(void*, int32_t, int64_t, int64_t);
  void* context_;
  int32_t phase_;
  int64_t total_;
  std::thread::id owner_;
  std::atomic<int64_t> done_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace sidbeam
