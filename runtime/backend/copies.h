// What there is of one thing on devices: of an index, of an overlay, of a filter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "support/ref_counted.h"

namespace sidbeam {

class OnDevices {
 public:
  virtual ~OnDevices() = default;
  virtual void forget(int32_t device_id) = 0;
};

// Any number of threads at a time. Who finds a copy waits for none that is being made.
template <class Copy>
class Copies final : public OnDevices {
 public:
  // The first that fits; null if there is none.
  template <class Fits>
  Ref<Copy> find(const Fits& fits) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(copies_.begin(), copies_.end(), [&](const auto& copy) { return fits(*copy); });
    return found != copies_.end() ? share(*found) : Ref<Copy>();
  }
  // The same, made by the first who asks. If make() throws, nothing has changed.
  template <class Fits, class Make>
  Ref<Copy> bring(const Fits& fits, const Make& make) {
    if (Ref<Copy> found = find(fits)) return found;
    const std::lock_guard bringing(bringing_);
    if (Ref<Copy> found = find(fits)) return found;
    Ref<Copy> made = make();
    const std::lock_guard lock(mutex_);
    copies_.push_back(share(made));
    return made;
  }
  void forget(int32_t device_id) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(copies_, [&](const Ref<Copy>& copy) { return copy->device().id() == device_id; });
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (const Ref<Copy>& copy : copies_) visit(*copy);
  }

 private:
  mutable std::mutex mutex_;  // of the list
  std::mutex bringing_;       // so that nothing is copied twice; held as long as that takes
  std::vector<Ref<Copy>> copies_;
};

}  // namespace sidbeam
