// A filter's bits on devices. Its masks stay here: no device kernel finds children by a mask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/copies.h"
#include "backend/device.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "sidbeam/index.h"
#include "support/process.h"

namespace sidbeam {

class FilterCopy final : public RefCounted<FilterCopy> {
 public:
  // Copies the bits of `filter`, a view without lists, and waits.
  FilterCopy(Ref<Device> device, const IndexView& index, const RulesView& filter, const sidbeam_upload_config& config);
  FilterCopy(const FilterCopy&) = delete;
  FilterCopy& operator=(const FilterCopy&) = delete;
  // Its bits are on the device.
  const RulesView& view() const { return base_.view; }
  const Upload& upload() const { return *upload_; }
  const Device& device() const { return upload_->device(); }

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
  // The copy on config.device_id, made by the first who asks; kinds and verify are none of its own.
  Ref<FilterCopy> bring(Devices& devices, const IndexView& index, const RulesView& filter,
                        const sidbeam_upload_config& config) const;
  std::shared_ptr<Copies<FilterCopy>> copies() const { return made_.get().copies; }
  int64_t bytes() const {
    return bytes_of([](const Device&) { return true; });
  }
  int64_t bytes_on(int32_t device_id) const {
    return bytes_of([=](const Device& device) { return device.id() == device_id; });
  }

 private:
  template <class Counts>
  int64_t bytes_of(const Counts& counts) const {
    int64_t bytes = 0;
    if (const Made* made = made_.find())
      made->copies->for_each(
          [&](const FilterCopy& copy) { bytes += counts(copy.device()) ? copy.upload().bytes() : 0; });
    return bytes;
  }

  struct Made {
    std::shared_ptr<Copies<FilterCopy>> copies = std::make_shared<Copies<FilterCopy>>();
  };

  mutable OfProcess<Made> made_;
};

}  // namespace sidbeam
