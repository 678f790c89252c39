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

SectionKind keys_kind(const IndexView& index) {
  return index.hash.seed != 0 ? SectionKind::SeededHashKeys : SectionKind::HashKeys;
}

constexpr uint32_t kStride = kSids + 32;  // 2^n bytes would put all columns into the same few sets of the cache

// The slots, in their order.
class SlotWalk {
 public:
  SlotWalk(const HashView& hash, SectionSums& sums)
      : hash_(hash),
        kernels_(plain_kernels()),
        probing_{hash.mix, hash.capacity - 1, hash.probes - 1},
        summed_keys_(sums, {hash.keys, sizeof *hash.keys}),
        summed_ordinals_(sums, hash.ordinals) {}

  // False where a slot is cut off from where its key begins, or an empty one has an ordinal.
  bool run() {
    uint64_t before = 0;  // used slots at the end, from where runs go on at the beginning
    while (before < hash_.capacity && hash_.keys[probing_.mask - before] != kEmptySlot) ++before;
    first_ = 0 - before;
    last_ = ~uint64_t{0};
    for (uint64_t begin = 0; begin < hash_.capacity; begin += kSids) {
      if (!next(begin, static_cast<uint32_t>(std::min<uint64_t>(hash_.capacity - begin, kSids)))) return false;
    }
    return true;
  }
  uint64_t used() const { return used_; }
  uint64_t sum() const { return sum_; }

 private:
  bool next(uint64_t begin, uint32_t count) {
    summed_keys_.reach(begin + count);
    summed_ordinals_.reach(begin + count);
    const uint64_t* keys = hash_.keys + begin;
    const uint32_t used =
        hash_.ordinals.width == 4
            ? kernels_.used_u32(keys, static_cast<const uint32_t*>(hash_.ordinals.data) + begin, count, slots_)
            : kernels_.used_u64(keys, static_cast<const uint64_t*>(hash_.ordinals.data) + begin, count, slots_);
    if (used == kStray) return false;
    used_ += used;
    measure_runs(begin, used);
    return kernels_.are_reached(slots_, used, begin, probing_, sum_);
  }

  // How many used slots are before each of the block's without an empty one between.
  void measure_runs(uint64_t begin, uint32_t used) {
    uint64_t first = first_ - begin, last = last_ - begin;
    for (uint32_t k = 0; k < used; ++k) {
      const uint64_t slot = slots_.slots[k], goes_on = 0 - uint64_t{slot == last + 1};
      first = (first & goes_on) | (slot & ~goes_on);
      last = slot;
      slots_.run[k] = slot - first;
    }
    first_ = first + begin;
    last_ = last + begin;
  }

  const HashView& hash_;
  const PlainKernels& kernels_;
  Probing probing_;
  Summed summed_keys_, summed_ordinals_;
  uint64_t first_ = 0, last_ = 0;  // the slot where the run of used ones began, and the last used one
  uint64_t used_ = 0, sum_ = 0;
  UsedSlots slots_;
};

}  // namespace

SidPairs::SidPairs(const IndexView& index)
    : index_(index),
      kernels_(plain_kernels()),
      codes_(index.hash.keys != nullptr ? size_t{kStride} * static_cast<size_t>(index.levels) : 0),
      done_(index.hash.keys != nullptr ? 0 : index.sids) {}

void SidPairs::add_block() {
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(index_.sids - done_, kSids));
  const auto levels = static_cast<uint32_t>(index_.levels);
  uint64_t keys[kSids] = {};
  for (uint32_t l = levels; l-- > 0;) {
    uint32_t* codes = codes_.data() + l * kStride;
    const UintArray& column = index_.level[l].column;
    if (column.width == 2) {
      kernels_.widen(static_cast<const uint16_t*>(column.data) + done_, count, codes);
    } else {
      std::copy_n(static_cast<const uint32_t*>(column.data) + done_, count, codes);
    }
    const uint64_t radix = uint64_t{index_.level[l].codes} + (index_.variable_length ? 1 : 0);
    if (!index_.hash.hashed) kernels_.add_digits(codes, radix, count, keys);
  }
  if (index_.hash.hashed) xxh3_64_of_rows(codes_.data(), levels, kStride, count, index_.hash.seed, keys);
  sum_ +=
      kernels_.sum_pairs(keys, index_.hash.hashed ? ~uint64_t{0} >> 1 : ~uint64_t{0}, index_.hash.mix, done_, count);
  done_ += count;
}

bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs) {
  SlotWalk walk(index.view.hash, sums);
  if (!walk.run() || walk.used() != index.view.sids) return false;
  pairs.reach(index.view.sids);
  return walk.sum() == pairs.sum();
}

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
