// Scores and their order, as the contract of a step has them (session.h). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "normalizer.h"

namespace bench {

// What turns an element of a row into a score: constants of the row.
struct RowScale {
  float score = 0;  // of the beam
  float ref = 0, rest = 0;
};

inline RowScale scale_of(float score, const Normalizer& normalizer) { return {score, normalizer.ref, normalizer.rest}; }

inline float score_of(const RowScale& row, float x) {
  const float log_prob = (x - row.ref) - row.rest;
  return row.score + (log_prob < 0.0F ? log_prob : 0.0F);
}

// Rises with the score, as an integer.
inline uint32_t ordered(float score) {
  const auto bits = std::bit_cast<uint32_t>(score);
  return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000U);
}
inline float score_from(uint32_t order) {
  return std::bit_cast<float>(order ^ (order >> 31 != 0 ? 0x80000000U : 0xFFFFFFFFU));
}

// One candidate of a slot in 64 bits: the larger, the better; score, then place rising. place = beam * width + column.
inline uint64_t key_of(float score, uint32_t place) { return uint64_t{ordered(score)} << 32 | ~place; }
inline uint32_t place_of(uint64_t key) { return ~static_cast<uint32_t>(key); }
inline float score_of(uint64_t key) { return score_from(static_cast<uint32_t>(key >> 32)); }

}  // namespace bench
