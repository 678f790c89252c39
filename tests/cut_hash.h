// Hash sets whose keys collide, which no choice of SIDs brings about: 63 bits of a hash are too many. By the core's own
// headers, since its ABI offers no such thing. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "decode/objects.h"

namespace cut {

inline sidbeam::HashView& hash_of(sidbeam_index* index) { return index->index.view.hash; }

// Leaves `bits` bits of the hashed keys of an index made by a builder, and fills its hash set anew with what is left.
// Before anything else uses the index.
inline void cut_hash(sidbeam_index* index, int bits) {
  sidbeam::HashView& hash = hash_of(index);
  hash.key_mask = (uint64_t{1} << bits) - 1;
  auto* keys = const_cast<uint64_t*>(hash.keys);
  auto* ordinals = static_cast<uint32_t*>(const_cast<void*>(hash.ordinals.data));
  std::vector<std::pair<uint64_t, uint32_t>> entries;
  for (uint64_t slot = 0; slot < hash.capacity; ++slot) {
    if (keys[slot] != ~uint64_t{0}) entries.emplace_back(keys[slot] & hash.key_mask, ordinals[slot]);
    keys[slot] = ~uint64_t{0}, ordinals[slot] = 0;
  }
  hash.probes = hash.capacity;  // SIDs of one key crowd
  for (const auto& [key, ordinal] : entries) {
    uint64_t slot = mix_key(hash.mix, key) & (hash.capacity - 1);
    while (keys[slot] != ~uint64_t{0}) slot = (slot + 1) & (hash.capacity - 1);
    keys[slot] = key, ordinals[slot] = ordinal;
  }
}

}  // namespace cut
