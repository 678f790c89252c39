// Numbers for the mutators and harnesses: the same from the same seed everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

namespace fuzz {

// splitmix64
struct Random {
  uint64_t state;

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 .. count - 1; 0 where count is 0.
  uint64_t below(uint64_t count) { return count == 0 ? 0 : next() % count; }
  bool one_in(uint64_t count) { return below(count) == 0; }
  // Small numbers more often than large ones, up to 2^bits.
  uint64_t skewed(int bits) { return next() >> (64 - 1 - below(static_cast<uint64_t>(bits))); }

  template <class Container>
  auto& pick(Container& from) {
    return from[below(std::size(from))];
  }
};

}  // namespace fuzz
