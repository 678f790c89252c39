// Tensor cores and what feeds them, as runtime/runner/cuda/mma.cuh calls them: the lanes of a warp exchange the
// addresses of their operands. Products are of exact 16-bit values, summed in f32 in rising order; what a GPU's order
// and rounding of sums are, nobody says. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "emulator_device.h"

namespace emulator {

template <bool kBf16>
float widen(uint16_t bits) {
  if constexpr (kBf16) return std::bit_cast<float>(uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction != 0 ? NAN : INFINITY;
  } else {
    value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                          : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// To nearest, ties to even.
template <bool kBf16>
uint16_t narrow(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 31;
  if constexpr (kBf16) {
    if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40U);
    return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
  }
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7FFF;
  uint32_t half = 0x7C00;
  if (size < 65520.0F) {  // what rounds to less than 65536
    int exponent = 0;
    std::frexp(size, &exponent);  // size = f * 2^exponent, 1/2 <= f < 1
    exponent = size > 0.0F ? std::max(exponent, -13) : -13;
    // A multiple of the unit there; the largest of an exponent carries into the next one by itself.
    const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 11 - exponent)));
    half = units + (static_cast<uint32_t>(exponent + 13) << 10);
  }
  return static_cast<uint16_t>(half | sign << 15);
}

template <bool kBf16>
uint32_t pack_pair(float low, float high) {
  return narrow<kBf16>(low) | static_cast<uint32_t>(narrow<kBf16>(high)) << 16;
}

template <bool kBf16>
void multiply_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Operands {
    uint32_t a[4], b[2];
  };
  const Operands own{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const uint64_t* all = exchange(__FILE__, __LINE__, 0xFFFFFFFFU, bits_of(&own));
  const auto half = [](uint32_t pair, uint32_t which) {
    return widen<kBf16>(static_cast<uint16_t>(pair >> 16 * which));
  };
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t row = lane() / 4 + i / 2 * 8, column = lane() % 4 * 2 + i % 2;
    for (uint32_t k = 0; k < 16; ++k) {
      const auto* of_a = value_of<const Operands*>(all[row % 8 * 4 + k % 8 / 2]);
      const auto* of_b = value_of<const Operands*>(all[column * 4 + k % 8 / 2]);
      c[i] += half(of_a->a[row / 8 + k / 8 * 2], k % 2) * half(of_b->b[k / 8], k % 2);
    }
  }
  exchange(__FILE__, __LINE__, 0xFFFFFFFFU, 0);  // the others' operands stay until all have read them
}

template <bool kTransposed>
void load_matrices(uint32_t (&out)[4], const void* row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
    std::fprintf(stderr, "emulator: a row of a matrix is not aligned\n");
    std::abort();
  }
  const uint64_t* all = exchange(__FILE__, __LINE__, 0xFFFFFFFFU, bits_of(row));
  const uint32_t group = lane() / 4, pair = lane() % 4 * 2;
  for (uint32_t i = 0; i < 4; ++i) {
    const auto at = [&](uint32_t r, uint32_t c) -> uint32_t { return value_of<const uint16_t*>(all[8 * i + r])[c]; };
    out[i] = kTransposed ? at(pair, group) | at(pair + 1, group) << 16 : at(group, pair) | at(group, pair + 1) << 16;
  }
  exchange(__FILE__, __LINE__, 0xFFFFFFFFU, 0);
}

// Copies that are done when they are waited for, and no earlier.
class AsyncCopies {
 public:
  void add(void* to, const void* from, bool real) {
    if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) {
      std::fprintf(stderr, "emulator: a copy of 16 bytes is not aligned\n");
      std::abort();
    }
    copies_.push_back({to, real ? from : nullptr, group_});
  }
  void commit() { ++group_; }
  template <int kGroups>
  void wait() {
    size_t kept = 0;
    for (const Copy& copy : copies_) {
      if (copy.group >= group_ - kGroups) {
        copies_[kept++] = copy;
      } else if (copy.from == nullptr) {
        std::memset(copy.to, 0, 16);
      } else {
        std::memcpy(copy.to, copy.from, 16);
      }
    }
    copies_.resize(kept);
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int group;
  };
  std::vector<Copy> copies_;
  int group_ = 0;
};

}  // namespace emulator
