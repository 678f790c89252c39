// The hash set: a fast pass, and one that explains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "index/verify/bulk_kernels.h"
#include "index/verify/section_sums.h"

namespace sidbeam {

// Sums pair_number() over the (key, ordinal) pairs that the SIDs read so far put into the hash set.
class SidPairs {
 public:
  explicit SidPairs(const IndexView& index);
  // Adds at least the first `end` SIDs. Does nothing where there is no hash set.
  void reach(uint64_t end) {
    while (done_ < end) add_block();
  }
  uint64_t sum() const { return sum_; }

 private:
  void add_block();

  const IndexView& index_;
  const BulkKernels& kernels_;
  std::vector<uint32_t> codes_;  // [levels, kSidStride]
  uint64_t done_, sum_ = 0;
};

// True only where verify_hash() would pass, for SIDs of any length; false proves nothing. Trusts only the header. Adds
// what it reads to the sums and the pairs.
bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs);

// Checks every used slot against the SID that it names. Throws Failure(CORRUPT) with section and slot.
void verify_hash(const IndexView& index);

}  // namespace sidbeam
