// A set of item rows: a bit for each. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "support/memory.h"

namespace sidbeam {

// [row_words(rows) + 1] lowest bit first; bits past the last row are 0 (make_bits() in bits.h).
using RowBits = Buffer<uint64_t>;

constexpr uint64_t row_words(uint64_t rows) { return (rows + 63) / 64; }

// The bits of rows that a set's word has; all but for the last one.
constexpr uint64_t row_mask(uint64_t word, uint64_t rows) {
  const uint64_t left = rows - word * 64;
  return left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
}

// A bit per byte, each 0 or 1. Elsewhere than on x86 by products, since a bit at a time takes several times as long.
inline uint64_t pack_flags(const uint8_t flags[64]) {
  uint64_t bits = 0;
#if defined(__SSE2__)
  for (int i = 0; i < 4; ++i) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + 16 * i));
    bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_slli_epi16(sixteen, 7)))} << (16 * i);
  }
#else
  for (int i = 0; i < 8; ++i) {
    uint64_t eight;
    std::memcpy(&eight, flags + 8 * i, sizeof eight);
    bits |= (eight * 0x0102040810204080u >> 56) << (8 * i);
  }
#endif
  return bits;
}

}  // namespace sidbeam
