// An index's copies on devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

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
  // with a trie. config.kinds and config.verify are those of that.
  Ref<Upload> bring_overlay(Devices& devices, const Index& delta, const Index& base, const IndexView& version,
                            Ref<Upload> below, const sidbeam_upload_config& config);
  void forget(int32_t device_id);
  // Kinds and bytes on a device.
  sidbeam_upload_info describe(int32_t device_id) const;

 private:
  struct Made {
    std::mutex mutex;     // of the list
    std::mutex bringing;  // so that nothing is copied twice; held as long as that takes
    std::vector<Ref<Upload>> uploads;
  };

  OfProcess<Made> made_;
};

}  // namespace sidbeam
