// Top-k and top-p of a row, for every backend: what is kept follows from counts of elements and sums of their integer
// weights, so it does not depend on the order of additions, nor on how its boundary is searched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "backend/draw.h"

namespace sidbeam {

// Columns of a row that is truncated, and codes of its level, which a map may take to fewer columns: the sum of so many
// weights fits into 64 bits, of 2^22 no more.
inline constexpr int64_t kMostTruncated = int64_t{1} << 21;

struct Truncation {
  int32_t top_k = 0;   // 0: none
  float top_p = 1.0F;  // 1: none

  SIDBEAM_HD bool any() const { return top_k > 0 || top_p < 1.0F; }
};

// Whether rows of so many columns may be truncated like that, or at a level of so many codes.
SIDBEAM_HD inline bool can_truncate(const Truncation& truncation, int64_t elements) {
  return !truncation.any() || elements <= kMostTruncated;
}

// The last element that is kept, in the order x falling, position rising. A position is a column, or with
// NORMALIZE_LEVEL a code.
struct Boundary {
  float x = -std::numeric_limits<float>::infinity();
  int64_t position = std::numeric_limits<int64_t>::max();

  SIDBEAM_HD bool keeps(float value, int64_t at) const { return value > x || (value == x && at <= position); }
};

// Rises with x, which is not NaN; -0 and +0 are equal.
SIDBEAM_HD inline uint32_t order_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x + 0.0F);
  return bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFU : 0x80000000U);
}
SIDBEAM_HD inline float x_of_order(uint32_t order) {
  return std::bit_cast<float>(order ^ ((order >> 31) != 0 ? 0x80000000U : 0xFFFFFFFFU));
}

// The least mass that top-p keeps: ceil(p * total), at least 1.
SIDBEAM_HD inline uint64_t mass_goal(uint64_t total, float top_p) {
  const auto bits = std::bit_cast<uint32_t>(top_p);
  const int shift = 150 - static_cast<int>(bits >> 23);  // p = mantissa * 2^-shift; a denormal one keeps one element
  if (shift > 100) return 1;
  const Wide product = static_cast<Wide>(total) * ((bits & 0x7FFFFF) | 0x800000);
  return static_cast<uint64_t>((product + ((static_cast<Wide>(1) << shift) - 1)) >> shift);
}

}  // namespace sidbeam
