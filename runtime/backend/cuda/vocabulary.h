// The columns of codes in a logits row, in a device's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device.h"

namespace sidbeam::cuda {

// Columns by level and their maps, as part of a block of device memory.
class VocabularyBlock {
 public:
  VocabularyBlock(const VocabularyView& given, Layout& layout);
  // Fills its part of the block at `base`, in the order of the stream; returns the columns there. The object must live
  // until the stream has reached the copy.
  const LevelColumns* copy_to(uint8_t* base, cudaStream_t stream);

 private:
  const VocabularyView& given_;
  int64_t columns_at_, maps_at_;
  std::vector<LevelColumns> columns_;
};

}  // namespace sidbeam::cuda
