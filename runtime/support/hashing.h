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
// Of `count` rows of 1 to 64 words, which lie in columns: word w of row i is columns[w * stride + i].
void xxh3_64_of_rows(CpuTarget target, const uint32_t* columns, size_t words, size_t stride, size_t count,
                     uint64_t seed, uint64_t* out);
Hash128 xxh3_128(CpuTarget target, const void* data, size_t bytes);

// XXH3 of a stream that comes in pieces: of both lengths, which differ in their last step only. Holds its state in
// place, so it needs no memory.
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

// What spreads the bits of a key: the finaliser of MurmurHash3, of which a seed may choose the multipliers, which are
// odd, and what the key is masked with before. A bijection, and part of the file format.
struct KeyMix {
  uint64_t mask = 0, first = 0xff51afd7ed558ccdu, second = 0xc4ceb9fe1a85ec53u;
};

// Always inline, so that no file compiled for one instruction set leaves it to another.
SIDBEAM_HD __attribute__((always_inline)) inline constexpr uint64_t mix_key(const KeyMix& mix, uint64_t key) {
  key ^= mix.mask;
  key = (key ^ key >> 33) * mix.first;
  key = (key ^ key >> 33) * mix.second;
  return key ^ key >> 33;
}

}  // namespace sidbeam
