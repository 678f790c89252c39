// Checks the hash set, in a fast pass and in one that explains what is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "index/verify/bulk_kernels.h"
#include "index/verify/section_sums.h"

namespace sidbeam {

// Sums pair_number() over the (key, ordinal) pairs that the SIDs read so far contribute to the hash set.
class SidPairs {
 public:
  explicit SidPairs(const IndexView& index);
  // Adds at least the first `end` SIDs. Does nothing if there is no hash set.
  void reach(uint64_t end) {
    while (done_ < end) add_block();
  }
  uint64_t sum() const { return sum_; }
  // For the slots, whose pairs must be numbered alike.
  const Probing& probing() const { return probing_; }

 private:
  void add_block();

  const IndexView& index_;
  const BulkKernels& kernels_;
  const Probing probing_;
  std::vector<uint32_t> codes_;  // [levels, kSidStride]
  uint64_t done_, sum_ = 0;
};

// Returns true only if verify_hash() would pass, for SIDs of any length; false proves nothing. Trusts only the header.
// Adds what it reads to `sums` and `pairs`.
bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs);

// Checks every used slot against its SID. Throws Failure(CORRUPT) with section and slot.
void verify_hash(const IndexView& index);

}  // namespace sidbeam
