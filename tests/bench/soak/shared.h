// What all threads share: the catalogue, and which pairs each of its versions has, told by who made it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <sidbeam/sidbeam.h>

#include "live_set.h"

namespace bench::soak {

using Content = std::shared_ptr<const LiveSet>;

class History {
 public:
  static constexpr size_t kKept = 40;  // more than the catalogue keeps, for those who hold a version longer

  void tell(int64_t version, Content content) {
    const std::lock_guard lock(mutex_);
    contents_[version] = std::move(content);
    if (contents_.size() > kKept) contents_.erase(contents_.begin());
    told_.notify_all();
  }
  // A version can be had a little before its maker has told what it is.
  Content of(int64_t version) {
    std::unique_lock lock(mutex_);
    const auto is_told = [&] { return contents_.contains(version); };
    if (!told_.wait_for(lock, std::chrono::minutes(1), is_told))
      throw std::runtime_error("nobody has told what version " + std::to_string(version) + " is");
    return contents_[version];
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::map<int64_t, Content> contents_;
};

struct Shared {
  sidbeam_catalog* catalog = nullptr;
  History history;
  std::atomic<bool> over{false};
};

}  // namespace bench::soak
