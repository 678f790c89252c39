// Logits rows of any layout, in a block of exactly the elements that they reach.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "world.h"

namespace fuzz::abi {

class Logits {
 public:
  // Of [slots, rows, columns], slots 0: [rows, columns]; dtype, strides, alignment and elements are drawn.
  Logits(World& world, int64_t slots, int64_t rows, int64_t columns);
  sidbeam_rows view = SIDBEAM_ROWS_INIT;
  // The fault in the view from now on; the block does not change.
  void spoil(World& world, int32_t fault);
  static constexpr int32_t kFaults = 7;
  // Where view.data points to.
  uint8_t* data() const { return data_; }
  // The last call left the elements as they were.
  bool unwritten() const { return memory_->memory().untouched(); }

 private:
  std::unique_ptr<Out<uint8_t>> memory_;
  uint8_t* data_ = nullptr;
};

}  // namespace fuzz::abi
