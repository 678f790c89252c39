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

// The number of the lowest byte whose high bit is set, 8 where there is none.
inline int lowest(uint64_t highs) { return highs == 0 ? 8 : std::countr_zero(highs) / 8; }

// How many digits a word begins with. Below the first byte that is none nothing is carried or borrowed; what becomes of
// those above it does not matter.
inline int leading_digits(uint64_t word) {
  return lowest(((word - kOnes * '0') | (word + kOnes * (0x80 - '0' - 10))) & kHighs);
}

// The number that so many digits, at least one, are; nothing of use where there is none.
inline int64_t number_of(uint64_t word, int digits) {
  uint64_t pairs = (word - kOnes * '0') << ((64 - 8 * digits) & 63);  // zeros come before them
  pairs = pairs * 10 + (pairs >> 8);
  constexpr uint64_t kPairs = 0x000000ff000000ff;
  return static_cast<int64_t>(((pairs & kPairs) * 0x000f424000000064 + ((pairs >> 16 & kPairs) * 0x0000271000000001)) >>
                              32);
}

}  // namespace importer

#endif
