// Keys and values of a lane's requests: of each prompt once, and of what each beam wrote.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runner/attention/shared_kv.h"
#include "runner/math/view.h"

namespace sidbeam::runner {

class KvCache {
 public:
  KvCache() = default;
  // `positions` of the shared part per request, `slots` of the unshared part.
  KvCache(const Allocator& allocator, const HeadShape& shape, int32_t layers, int32_t requests, int64_t positions,
          int64_t slots);

  SharedKv& shared(int64_t layer, int64_t request) { return shared_[static_cast<size_t>(layer * requests_ + request)]; }
  // The slots of a request: keys of all heads, then values, as a product writes them.
  Rows unshared(int64_t layer, int64_t request) {
    return {unshared_.data() + (layer * requests_ + request) * slots_ * 2 * width_, slots_, 2 * width_};
  }
  int64_t memory_bytes() const;

 private:
  int64_t requests_ = 0, slots_ = 0, width_ = 0;
  std::vector<SharedKv> shared_;
  Buffer<float> unshared_;
};

}  // namespace sidbeam::runner
