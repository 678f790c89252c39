// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"), and what its numbers
// are for: sidbeam/sampling.h. Integers alone, so that every machine has the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

// What a number is for; each use has its own counters.
enum class RandomUse : uint32_t {
  kCode = 0,      // a draw's code at a level
  kAccept = 1,    // whether DISC accepts a draw
  kResample = 2,  // which of the fresh draws DISC takes
  kNoise = 3,     // of a prefix, for stochastic beams
  // Of relaxed speculation: what the draft draws, whether a draft is accepted, which of the accepted are kept, and what
  // takes a rejected one's place.
  kDraft = 4,
  kVerify = 5,
  kKeep = 6,
  kReplace = 7,
};

struct Philox4 {
  uint32_t word[4];
};

inline constexpr uint32_t kPhiloxM0 = 0xD2511F53, kPhiloxM1 = 0xCD9E8D57;  // multipliers
inline constexpr uint32_t kPhiloxW0 = 0x9E3779B9, kPhiloxW1 = 0xBB67AE85;  // what a round adds to the key
inline constexpr int kPhiloxRounds = 10;

SIDBEAM_HD inline Philox4 philox(Philox4 counter, uint64_t seed) {
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kPhiloxM0} * counter.word[0], p1 = uint64_t{kPhiloxM1} * counter.word[2];
    counter = {{static_cast<uint32_t>(p1 >> 32) ^ counter.word[1] ^ key0, static_cast<uint32_t>(p1),
                static_cast<uint32_t>(p0 >> 32) ^ counter.word[3] ^ key1, static_cast<uint32_t>(p0)}};
    key0 += kPhiloxW0;
    key1 += kPhiloxW1;
  }
  return counter;
}

// The counter of a draw: request, number of the draw (52 bits), use and level (12 bits).
SIDBEAM_HD inline Philox4 draw_counter(int64_t request, int64_t draw, RandomUse use, int32_t level) {
  const auto r = static_cast<uint64_t>(request), d = static_cast<uint64_t>(draw);
  return {{static_cast<uint32_t>(r), static_cast<uint32_t>(r >> 32), static_cast<uint32_t>(d),
           static_cast<uint32_t>(d >> 32) << 12 | static_cast<uint32_t>(use) << 8 | static_cast<uint32_t>(level)}};
}
inline constexpr int64_t kMostDraws = int64_t{1} << 52;

// 64 random bits of a draw.
SIDBEAM_HD inline uint64_t draw_bits(uint64_t seed, int64_t request, int64_t draw, RandomUse use, int32_t level) {
  const Philox4 out = philox(draw_counter(request, draw, use, level), seed);
  return uint64_t{out.word[1]} << 32 | out.word[0];
}

// The same as a number in [0, 1), of 53 bits.
SIDBEAM_HD inline double unit_of(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace sidbeam
