// Which codes the SIDs of an index have, found when somebody first asks: vocabularies may lack the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "index/views.h"

namespace sidbeam {

class UsedCodes {
 public:
  // Whether some SID has the code at a level; code < index.level[level].codes. One pass over the level's codes at the
  // first call of a level, from any thread.
  bool has(const IndexView& index, int level, uint32_t code);

 private:
  struct Level {
    std::once_flag once;
    std::vector<uint64_t> bits;
  };
  Level levels_[kMaxLevels];
};

}  // namespace sidbeam
