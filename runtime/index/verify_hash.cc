// The hash set: every used slot against the SID that it names.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "index/emit.h"
#include "index/lookup.h"
#include "index/verify.h"
#include "index/verify_blocks.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

constexpr uint64_t kEmpty = ~uint64_t{0};

// A number of an ordinal and its key. Sums of these tell sets of such pairs apart as surely as a hash of 64 bits does, in
// whatever order they come: so neither SIDs nor slots are read at random.
uint64_t pair_number(uint64_t ordinal, uint64_t key) { return mix64(key + ordinal * 0x9e3779b97f4a7c15u); }

// Of what the columns say.
uint64_t sum_sids(const IndexView& index) {
  const auto levels = static_cast<uint32_t>(index.levels);
  std::vector<int32_t> codes(size_t{kSids} * levels);
  uint64_t sum = 0, keys[kSids];
  for (uint64_t begin = 0; begin < index.sids; begin += kSids) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(index.sids - begin, kSids));
    for (uint32_t l = 0; l < levels; ++l) {
      with_elements(index.level[l].column, [&](const auto* column) {
        for (uint32_t i = 0; i < count; ++i) codes[i * levels + l] = static_cast<int32_t>(column[begin + i]);
      });
    }
    hash_keys(index, codes.data(), count, keys);
    for (uint32_t i = 0; i < count; ++i) sum += pair_number(begin + i, keys[i]);
  }
  return sum;
}

// The slots, in their order.
class SlotWalk {
 public:
  SlotWalk(const HashView& hash, SectionSums& sums)
      : hash_(hash),
        mask_(hash.capacity - 1),
        summed_keys_(sums, {hash.keys, sizeof *hash.keys}),
        summed_ordinals_(sums, hash.ordinals) {}

  // False where a slot is cut off from where its key begins.
  bool run() {
    uint64_t before = 0;  // used slots at the end, from where runs go on at the beginning
    while (before < hash_.capacity && hash_.keys[mask_ - before] != kEmpty) ++before;
    first_ = 0 - before;
    last_ = ~uint64_t{0};
    return with_elements(hash_.ordinals, [&](const auto* ordinals) {
      bool good = true;
      for (uint64_t begin = 0; begin < hash_.capacity && good; begin += kSids)
        good = next(ordinals, begin, static_cast<uint32_t>(std::min<uint64_t>(hash_.capacity - begin, kSids)));
      return good;
    });
  }
  uint64_t used() const { return used_; }
  // Of all slots: no more than that of the SIDs' where the empty ones have 0.
  uint64_t ordinals() const { return ordinals_; }
  uint64_t sum() const { return sum_; }

 private:
  template <class Ordinal>
  bool next(const Ordinal* ordinals, uint64_t begin, uint32_t count) {
    summed_keys_.reach(begin + count);
    summed_ordinals_.reach(begin + count);
    const uint64_t* keys = hash_.keys + begin;
    uint16_t slots[kSids];  // the used ones: which they are is random, so no branch should hang on it
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; ++i) {
      slots[used] = static_cast<uint16_t>(i);
      used += keys[i] != kEmpty;
    }
    uint64_t cut_off = 0, sum = sum_, first = first_, last = last_;
    for (uint32_t k = 0; k < used; ++k) {
      const uint64_t slot = begin + slots[k], key = hash_.keys[slot];
      const uint64_t goes_on = 0 - uint64_t{slot == last + 1};
      first = (first & goes_on) | (slot & ~goes_on);
      last = slot;
      cut_off |= ((slot - mix64(key)) & mask_) > slot - first;
      sum += pair_number(ordinals[slot], key);
    }
    for (uint32_t i = 0; i < count; ++i) ordinals_ += ordinals[begin + i];
    used_ += used;
    sum_ = sum;
    first_ = first;
    last_ = last;
    return cut_off == 0;
  }

  const HashView& hash_;
  uint64_t mask_;
  Summed summed_keys_, summed_ordinals_;
  uint64_t first_ = 0, last_ = 0;  // the slot where the run of used ones began, and the last used one
  uint64_t used_ = 0, ordinals_ = 0, sum_ = 0;
};

}  // namespace

bool has_plain_hash(const Index& index, SectionSums& sums) {
  const uint64_t sids = index.view.sids;
  SlotWalk walk(index.view.hash, sums);
  return walk.run() && walk.used() == sids && walk.ordinals() == sids * (sids - 1) / 2 &&
         walk.sum() == sum_sids(index.view);
}

// Not by looking every SID up: crafted clusters would make that quadratic. Instead every used slot is checked to hold
// its own SID's key, no SID twice, and to be reached from where its key begins without meeting an empty slot.
void verify_hash(const IndexView& index) {
  const HashView& hash = index.hash;
  const uint64_t slots = hash.capacity - 1, empty = kEmpty;
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
    corrupt(SectionKind::HashKeys, -1, "%llu slots are used, expected one for each of %llu SIDs",
            static_cast<ull>(used), static_cast<ull>(index.sids));
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
      corrupt(SectionKind::HashKeys, -1, "slot %llu has not the key of its SID, %llu", static_cast<ull>(slot),
              static_cast<ull>(ordinal));
    if (((slot - mix64(key)) & slots) >= run)
      corrupt(SectionKind::HashKeys, -1, "slot %llu is cut off from where its key begins", static_cast<ull>(slot));
  }
}

}  // namespace sidbeam
