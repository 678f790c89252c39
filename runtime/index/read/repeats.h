// Items that have several SIDs: which item rows have an id that repeats, and where else it occurs. Derived from the ids
// when distinct items are first asked for, and kept with the index; the file says nothing about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

// Bytes of an unsigned integer up to `most`.
constexpr int32_t uint_width(uint64_t most) { return most >> 32 == 0 ? 4 : 8; }

// Unsigned integers in 4 or 8 bytes each.
class UintBuffer {
 public:
  UintBuffer() = default;
  UintBuffer(const Allocator& allocator, uint64_t count, int32_t width)
      : bytes_(allocator, checked_bytes(static_cast<int64_t>(count), width)), width_(width) {}
  void set(uint64_t i, uint64_t value) {
    if (width_ == 4) {
      reinterpret_cast<uint32_t*>(bytes_.data())[i] = static_cast<uint32_t>(value);
    } else {
      reinterpret_cast<uint64_t*>(bytes_.data())[i] = value;
    }
  }
  UintArray view() const { return {bytes_.data(), width_}; }
  int64_t bytes() const { return bytes_.bytes(); }

 private:
  Buffer<uint8_t> bytes_;
  int32_t width_ = 4;
};

// Empty where every item has one SID.
class ItemRepeats {
 public:
  // Three passes over the ids, and a table of those that may repeat.
  ItemRepeats(const IndexView& index, const Allocator& allocator);
  const RepeatsView& view() const { return view_; }

 private:
  UintBuffer rows_, items_, offsets_, ordinals_;
  RepeatsView view_;
};

}  // namespace sidbeam
