// Hashes of prefixes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bench {

// The output function of SplitMix64: a bijection that looks random.
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The hash of a prefix and one more code. Different prefixes of a catalogue of 1e8 SIDs meet with a chance of 1e-3.
inline uint64_t extend(uint64_t prefix, uint32_t code) { return mix(prefix ^ (code + uint64_t{1})); }

}  // namespace bench
