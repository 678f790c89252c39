// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_hash.h"

#include <vector>

#include "index/read/lookup.h"
#include "index/verify/explain.h"

namespace sidbeam {

// Looking every SID up would be quadratic on crafted clusters. Instead, every used slot must hold the key of its own
// SID, no SID may come twice, and every slot must be reached from where its key begins without meeting an empty one.
void verify_hash(const IndexView& index) {
  using ull = unsigned long long;
  const HashView& hash = index.hash;
  const uint64_t slots = hash.capacity - 1;
  uint64_t used = 0, start = 0;
  for (uint64_t slot = 0; slot <= slots; ++slot) {
    check_empty_slot(kExplain, hash, slot);
    if (is_used(hash.keys[slot])) {
      ++used;
    } else {
      start = slot;
    }
  }
  if (used != index.sids)
    corrupt(keys_kind(index), -1, "%llu slots are used, expected one for each of %llu SIDs", static_cast<ull>(used),
            static_cast<ull>(index.sids));
  std::vector<bool> seen(index.sids);
  for (uint64_t step = 1, before = 0; step <= slots; ++step) {
    const uint64_t slot = (start + step) & slots;
    if (!is_used(hash.keys[slot])) {
      before = 0;
      continue;
    }
    check_slot_ordinal(kExplain, index, slot);
    const uint64_t ordinal = hash.ordinals[slot];
    if (seen[ordinal])
      corrupt(format::SectionKind::HashOrdinals, -1, "slot %llu has ordinal %llu, which is another slot's too",
              static_cast<ull>(slot), static_cast<ull>(ordinal));
    seen[ordinal] = true;
    check_slot_key(kExplain, index, slot, hash_key);
    check_slot_place(kExplain, index, slot, before++);
  }
}

}  // namespace sidbeam
