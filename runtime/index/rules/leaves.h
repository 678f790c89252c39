// Where the paths of SIDs end: the last edge above the tail of each, where lengths vary.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/read/lookup.h"
#include "index/read/repeats.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

class LeafTable {
 public:
  // One pass over the ends of every level and one over the SIDs. (To search the ends for each SID of a list took more
  // than half of the list's time.)
  LeafTable(const IndexView& index, const Allocator& allocator);
  Leaf leaf_of(uint64_t ordinal) const { return {levels_[static_cast<int64_t>(ordinal)], edges_.view()[ordinal]}; }
  void prefetch(uint64_t ordinal) const;

 private:
  Buffer<uint8_t> levels_;  // [sids]
  UintBuffer edges_;        // [sids] of the level, where it has any, also in a damaged index
};

}  // namespace sidbeam
