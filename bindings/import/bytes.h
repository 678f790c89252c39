// Eight bytes of text at once: branches for each byte of a short field are mostly mispredicted.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_BYTES_H
#define SIDBEAM_IMPORT_BYTES_H

#include <bit>
#include <cstdint>
#include <cstring>

namespace importer {

constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

// The first is the lowest; all must be readable.
inline uint64_t eight_bytes(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The high bit of each byte that is zero; above the lowest of these there may be others.
inline uint64_t zero_bytes(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// The number of the lowest byte whose high bit is set, 8 where there is none.
inline int lowest(uint64_t highs) { return highs == 0 ? 8 : std::countr_zero(highs) / 8; }

// The number that the digits at `at` are; *digits gets how many there are. Only up to 7: 8 means 8 or more, and no
// number.
inline int64_t short_number(const char* at, int* digits) {
  const uint64_t values = eight_bytes(at) ^ kOnes * '0';
  *digits = lowest((((values & ~kHighs) + kOnes * 0x76) | values) & kHighs);
  if (*digits == 0 || *digits == 8) return 0;
  uint64_t pairs = values << (64 - 8 * *digits);  // zeros come before them
  pairs = pairs * 10 + (pairs >> 8);
  constexpr uint64_t kPairs = 0x000000ff000000ff;
  return static_cast<int64_t>(((pairs & kPairs) * 0x000f424000000064 + ((pairs >> 16 & kPairs) * 0x0000271000000001)) >>
                              32);
}

}  // namespace importer

#endif
