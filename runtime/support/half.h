// 16-bit floats, one at a time. Conversion is exact, so it agrees with the vector kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

SIDBEAM_HD inline float float_of(float value) { return value; }

SIDBEAM_HD inline float float_of(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

// The bits moved into place are the value times 2^-112; infinities and NaNs get their exponent back.
SIDBEAM_HD inline float float_of(F16 value) {
  const uint32_t magnitude = (value.bits & 0x7FFFU) << 13, sign = (value.bits & 0x8000U) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const uint32_t bits = scaled >= 65536.0F ? magnitude | 0x7F800000U : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

}  // namespace sidbeam
