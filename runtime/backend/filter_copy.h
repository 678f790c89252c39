// A filter's bits on devices. Its masks stay here: no device kernel finds children by a mask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "backend/device.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "support/process.h"

namespace sidbeam {

class FilterCopy final : public RefCounted<FilterCopy> {
 public:
  // Copies the bits of `filter`, a view without lists, and waits.
  FilterCopy(Ref<Device> device, const IndexView& index, const RulesView& filter);
  FilterCopy(const FilterCopy&) = delete;
  FilterCopy& operator=(const FilterCopy&) = delete;
  // Its bits are on the device.
  const RulesView& view() const { return base_.view; }
  const Upload& upload() const { return *upload_; }

 private:
  struct TrieBits {
    std::vector<LevelRules> levels;
    RulesView view;
  };
  TrieBits base_, delta_, merged_;  // the others of an index with an overlay
  Ref<Upload> upload_;
};

// Any number of threads at a time. A forked child has none of its parent's.
class FilterCopies {
 public:
  // The copy on a device, made by the first who asks.
  Ref<FilterCopy> bring(Devices& devices, int32_t device_id, const IndexView& index, const RulesView& filter) const;
  void forget(int32_t device_id) const;
  int64_t bytes() const {
    return bytes_of([](const Device&) { return true; });
  }
  int64_t bytes_on(int32_t device_id) const {
    return bytes_of([=](const Device& device) { return device.id() == device_id; });
  }

 private:
  template <class Counts>
  int64_t bytes_of(const Counts& counts) const {
    Made* made = made_.find();
    if (made == nullptr) return 0;
    const std::lock_guard lock(made->mutex);
    int64_t bytes = 0;
    for (const Ref<FilterCopy>& copy : made->copies)
      bytes += counts(copy->upload().device()) ? copy->upload().bytes() : 0;
    return bytes;
  }

  struct Made {
    std::mutex mutex;  // held as long as a copy takes, so that nothing is copied twice
    std::vector<Ref<FilterCopy>> copies;
  };

  mutable OfProcess<Made> made_;
};

}  // namespace sidbeam
