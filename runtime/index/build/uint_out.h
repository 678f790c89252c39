// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

// Writes an array of unsigned integers of 2, 4 or 8 bytes each; UintArray reads it.
struct UintOut {
  uint8_t* data = nullptr;
  uint64_t width = 0;

  explicit operator bool() const { return data != nullptr; }
  void set(uint64_t i, uint64_t value) const {
    if (width == 2) {
      reinterpret_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
    } else if (width == 4) {
      reinterpret_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(value);
    } else {
      reinterpret_cast<uint64_t*>(data)[i] = value;
    }
  }
};

}  // namespace sidbeam
