// An index's copies on devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/copies.h"
#include "backend/device.h"
#include "index/index.h"
#include "support/process.h"

namespace sidbeam {

// SIDBEAM_KIND_*, of which compact tries count as tries.
int32_t kinds_of(const IndexView& index);
// The kinds that a strategy reads on a device.
int32_t kinds_for(int32_t strategy, const IndexView& index);

// Any number of threads at a time. A forked child has none of its parent's.
class Uploads {
 public:
  // An upload that is on the device and has these kinds; null if there is none.
  Ref<Upload> find(int32_t device_id, int32_t kinds) const;
  // The same, making it if there is none; config.kinds must be kinds of the index. If it throws, nothing has changed.
  Ref<Upload> bring(Devices& devices, const Index& index, const sidbeam_upload_config& config);
  // Of a delta: its sections and the overlay of `version`, an index that is read beside `below`, an upload of `base`
  // with a trie. config.kinds and config.verify are those of that. The caller sees to it that it goes with that.
  Ref<Upload> bring_overlay(Devices& devices, const Index& delta, const Index& base, const IndexView& version,
                            Ref<Upload> below, const sidbeam_upload_config& config);
  // An overlay that is beside this upload; null if there is none.
  Ref<Upload> find_overlay(const Upload& below) const;
  std::shared_ptr<OnDevices> copies() { return made_.get().copies; }
  // These go from a device whenever what is here does.
  void take_along(const std::shared_ptr<OnDevices>& copies);
  void forget(int32_t device_id);
  // Kinds and bytes on a device.
  sidbeam_upload_info describe(int32_t device_id) const;

 private:
  struct Made {
    std::shared_ptr<Copies<Upload>> copies = std::make_shared<Copies<Upload>>();
    std::mutex mutex;  // of the others
    std::vector<std::weak_ptr<OnDevices>> others;
  };

  OfProcess<Made> made_;
};

}  // namespace sidbeam
