// Protects hash sets against SIDs chosen to cluster. A seed determines where a key begins, and no key lies far from
// there. schemas/README.md gives the reasons.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/hashing.h"

namespace sidbeam {

// The number of slots in which a key may lie. Among 2^30 random SIDs, the probability that one finds no slot is about
// 2e-5.
inline constexpr uint64_t kMostProbes = 128;

// A build tries these seeds in turn, so that the same catalogue always gives the same bytes.
inline constexpr int kHashSeeds = 8;
constexpr uint64_t hash_seed(int i) { return mix_key({}, static_cast<uint64_t>(i) + 1); }

constexpr bool is_listed_hash_seed(uint64_t seed) {
  for (int i = 0; i < kHashSeeds; ++i) {
    if (seed == hash_seed(i)) return true;
  }
  return false;
}

// Seed 0 gives the fixed mix of files written before 1.2.
constexpr KeyMix key_mix(uint64_t seed) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  if (seed == 0) return {};
  return {mix_key({}, seed + kStep), mix_key({}, seed + 2 * kStep) | 1, mix_key({}, seed + 3 * kStep) | 1};
}

}  // namespace sidbeam
