// XXH3, the only hash of the formats: the same function whichever instructions compute it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/cpu_target.h"
#include "support/host_device.h"

namespace sidbeam {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
};

uint64_t xxh3_64(CpuTarget target, const void* data, size_t bytes);
uint64_t xxh3_64(CpuTarget target, const void* data, size_t bytes, uint64_t seed);
// Hashes `count` rows of 1 to 255 words, stored by column: word w of row i is columns[w * stride + i].
void xxh3_64_of_rows(CpuTarget target, const uint32_t* columns, size_t words, size_t stride, size_t count,
                     uint64_t seed, uint64_t* out);
Hash128 xxh3_128(CpuTarget target, const void* data, size_t bytes);

// XXH3 of a stream that comes in pieces, 64 and 128 bits, which differ only in their last step. Keeps its state in
// place and allocates nothing.
class Stream128 {
 public:
  explicit Stream128(CpuTarget target);
  void add(const void* data, size_t bytes);
  Hash128 value() const;
  uint64_t value_64() const;

 private:
  alignas(64) unsigned char state_[640];
  CpuTarget target_;
};

// Spreads the bits of a key: the finaliser of MurmurHash3, with a mask applied first. A seed may choose the mask and
// the multipliers, which are odd. A bijection, and part of the file format.
struct KeyMix {
  uint64_t mask = 0, first = 0xff51afd7ed558ccdu, second = 0xc4ceb9fe1a85ec53u;
};

// Always inline, so that code compiled for one instruction set never ends up in another's file.
SIDBEAM_HD __attribute__((always_inline)) inline constexpr uint64_t mix_key(const KeyMix& mix, uint64_t key) {
  key ^= mix.mask;
  key = (key ^ key >> 33) * mix.first;
  key = (key ^ key >> 33) * mix.second;
  return key ^ key >> 33;
}

}  // namespace sidbeam
