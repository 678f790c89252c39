// What the SIDs of the columns put into a hash set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/verify/bulk_kernels.h"
#include "index/views.h"

namespace sidbeam {

// The pairs of a hash set that the columns make, as far as they are read: the sum of their numbers (pair_number).
class SidPairs {
 public:
  explicit SidPairs(const IndexView& index);
  // Adds at least the first `end` SIDs. Nothing where there is no hash set.
  void reach(uint64_t end) {
    while (done_ < end) add_block();
  }
  uint64_t sum() const { return sum_; }

 private:
  void add_block();

  const IndexView& index_;
  const BulkKernels& kernels_;
  std::vector<uint32_t> codes_;  // [levels, kStride]
  uint64_t done_, sum_ = 0;
};

}  // namespace sidbeam
