// Finds on first use which codes occur in the SIDs of an index: a vocabulary may lack the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "index/views.h"

namespace sidbeam {

class UsedCodes {
 public:
  // Whether any SID has the code at a level; code < index.level[level].codes. The first call for a level scans its
  // codes once. May be called from any thread.
  bool has(const IndexView& index, int level, uint32_t code);

 private:
  struct Level {
    std::once_flag once;
    std::vector<uint64_t> bits;
  };
  Level levels_[kMaxLevels];
};

}  // namespace sidbeam
