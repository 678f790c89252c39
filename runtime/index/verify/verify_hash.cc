// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_hash.h"

#include <vector>

#include "index/format.h"
#include "index/read/lookup.h"
#include "index/verify/bulk_kernels.h"
#include "index/verify/corrupt.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

SectionKind keys_kind(const IndexView& index) {
  return index.hash.seed != 0 ? SectionKind::SeededHashKeys : SectionKind::HashKeys;
}

}  // namespace

// Not by looking every SID up: crafted clusters would make that quadratic. Instead every used slot is checked to hold
// its own SID's key, no SID twice, and to be reached from where its key begins without meeting an empty slot.
void verify_hash(const IndexView& index) {
  const HashView& hash = index.hash;
  const uint64_t slots = hash.capacity - 1, empty = kEmptySlot;
  uint64_t used = 0, start = 0;
  for (uint64_t slot = 0; slot <= slots; ++slot) {
    if (hash.keys[slot] != empty) {
      ++used;
      continue;
    }
    start = slot;
    if (hash.ordinals[slot] != 0)
      corrupt(SectionKind::HashOrdinals, -1, "slot %llu is empty and has ordinal %llu, expected 0",
              static_cast<ull>(slot), static_cast<ull>(hash.ordinals[slot]));
  }
  if (used != index.sids)
    corrupt(keys_kind(index), -1, "%llu slots are used, expected one for each of %llu SIDs", static_cast<ull>(used),
            static_cast<ull>(index.sids));
  std::vector<uint64_t> seen(divide_up(index.sids, 64), 0);
  for (uint64_t step = 1, run = 0; step <= slots; ++step) {
    const uint64_t slot = (start + step) & slots, key = hash.keys[slot];
    if (key == empty) {
      run = 0;
      continue;
    }
    ++run;
    const uint64_t ordinal = hash.ordinals[slot];
    if (ordinal >= index.sids || (seen[ordinal / 64] >> ordinal % 64 & 1) != 0)
      corrupt(SectionKind::HashOrdinals, -1, "slot %llu has ordinal %llu, which is %s", static_cast<ull>(slot),
              static_cast<ull>(ordinal), ordinal >= index.sids ? "no SID's" : "another slot's too");
    seen[ordinal / 64] |= uint64_t{1} << ordinal % 64;
    int32_t codes[kMaxLevels];
    for (int l = 0; l < index.levels; ++l) codes[l] = static_cast<int32_t>(index.level[l].column[ordinal]);
    if (hash_key(index, codes) != key)
      corrupt(keys_kind(index), -1, "slot %llu has not the key of its SID, %llu", static_cast<ull>(slot),
              static_cast<ull>(ordinal));
    const uint64_t distance = (slot - mix_key(hash.mix, key)) & slots;
    if (distance >= run)
      corrupt(keys_kind(index), -1, "slot %llu is cut off from where its key begins", static_cast<ull>(slot));
    if (distance >= hash.probes)
      corrupt(keys_kind(index), -1, "slot %llu is %llu slots from where its key begins, expected less than %llu",
              static_cast<ull>(slot), static_cast<ull>(distance), static_cast<ull>(hash.probes));
  }
}

}  // namespace sidbeam
