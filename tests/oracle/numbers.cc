// Elements of f16 and bf16 rows, from the definitions of the formats.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "oracle.h"

namespace oracle {
namespace {

float decode_f16(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

uint32_t encode_f16(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(double{value});
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;  // half way past the largest, 65504
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // ties to even
  return sign | ((static_cast<uint32_t>(exponent + 14) << 10) + units);  // a carry runs into the exponent, as it should
}

uint32_t encode_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return bits >> 16 | 0x40;
  const uint32_t odd = bits >> 16 & 1;
  return (bits + 0x7fff + odd) >> 16;
}

}  // namespace

float decode(Dtype dtype, uint32_t bits) {
  if (dtype == Dtype::kF32) return std::bit_cast<float>(bits);
  return dtype == Dtype::kF16 ? decode_f16(bits) : std::bit_cast<float>(bits << 16);
}

uint32_t encode(Dtype dtype, float value) {
  if (dtype == Dtype::kF32) return std::bit_cast<uint32_t>(value);
  return dtype == Dtype::kF16 ? encode_f16(value) : encode_bf16(value);
}

}  // namespace oracle
