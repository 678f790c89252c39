// The slots that a call names: each of them exists, and is named once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/base.h"
#include "support/error.h"
#include "support/memory.h"

namespace sidbeam {

class NamedSlots {
 public:
  NamedSlots() = default;
  NamedSlots(const Allocator& allocator, int64_t slots) : marks_(Buffer<int64_t>::zeroed(allocator, slots)) {}
  // Another call begins.
  void begin() { ++calls_; }
  // The slot of entry i of a list; nullptr: i. Throws where there is no such slot or this call has named it before.
  int32_t take(const int32_t* slots, int64_t i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    if (slot < 0 || slot >= marks_.size())
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, expected 0..%lld", static_cast<long long>(i),
           static_cast<long long>(slot), static_cast<long long>(marks_.size() - 1));
    if (marks_[slot] == calls_)
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, which is named before, expected each slot once",
           static_cast<long long>(i), static_cast<long long>(slot));
    marks_[slot] = calls_;
    return static_cast<int32_t>(slot);
  }
  int64_t memory_bytes() const { return marks_.bytes(); }

 private:
  Buffer<int64_t> marks_;  // [S] number of the call that last named the slot
  int64_t calls_ = 0;
};

}  // namespace sidbeam
