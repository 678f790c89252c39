// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_hash.h"

#include <algorithm>

#include "index/read/lookup.h"
#include "index/verify/bulk_arrays.h"
#include "index/verify/explain.h"
#include "support/hashing.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

// Walks the slots in order.
class SlotWalk {
 public:
  SlotWalk(const IndexView& index, SectionSums& sums, const Probing& probing)
      : hash_(index.hash),
        kernels_(bulk_kernels(index.target)),
        probing_(probing),
        summed_keys_(sums, {hash_.keys, sizeof *hash_.keys}),
        summed_ordinals_(sums, hash_.ordinals) {}

  // Returns false if a slot cannot be reached from where its key begins, or if an empty slot has an ordinal.
  bool run() {
    uint64_t before = 0;  // used slots at the end; their run continues at slot 0
    while (before < hash_.capacity && is_used(hash_.keys[probing_.mask - before])) ++before;
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
    const uint32_t used = with_pointers(kernels_, hash_.ordinals, [&](const auto* all, const auto& loops) {
      return loops.used(hash_.keys + begin, all + begin, count, slots_);
    });
    if (used == kStray) return false;
    used_ += used;
    measure_runs(begin, used);
    return kernels_.are_reached(slots_, used, begin, probing_, sum_);
  }

  // For each used slot of the block, counts the used slots that precede it without an empty one between.
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
  const BulkKernels& kernels_;
  Probing probing_;
  Summed summed_keys_, summed_ordinals_;
  uint64_t first_ = 0, last_ = 0;  // the start of the current run of used slots, and its last slot
  uint64_t used_ = 0, sum_ = 0;
  UsedSlots slots_;
};

uint64_t key_of_ordinal(const IndexView& index, uint64_t ordinal) {
  int32_t codes[kMaxLevels];
  for (int l = 0; l < index.levels; ++l) codes[l] = static_cast<int32_t>(index.level[l].column[ordinal]);
  return hash_key(index, codes);
}

}  // namespace

SidPairs::SidPairs(const IndexView& index)
    : index_(index),
      kernels_(bulk_kernels(index.target)),
      probing_{index.hash.mix,
               {secret_number() | 1, secret_number() | 1, secret_number() | 1},
               index.hash.capacity - 1,
               index.hash.probes - 1},
      codes_(index.hash.keys != nullptr ? size_t{kSidStride} * static_cast<size_t>(index.levels) : 0),
      done_(index.hash.keys != nullptr ? 0 : index.sids) {}

void SidPairs::add_block() {
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(index_.sids - done_, kSids));
  const auto levels = static_cast<uint32_t>(index_.levels);
  uint64_t keys[kSids] = {};
  for (uint32_t l = levels; l-- > 0;) {
    uint32_t* codes = codes_.data() + l * kSidStride;
    const UintArray& column = index_.level[l].column;
    if (column.width == 2) {
      kernels_.widen(static_cast<const uint16_t*>(column.data) + done_, count, codes);
    } else {
      std::copy_n(static_cast<const uint32_t*>(column.data) + done_, count, codes);
    }
    const uint64_t radix = uint64_t{index_.level[l].codes} + (index_.variable_length ? 1 : 0);
    if (!index_.hash.hashed) kernels_.add_digits(codes, radix, count, keys);
  }
  if (index_.hash.hashed)
    xxh3_64_of_rows(index_.target, codes_.data(), levels, kSidStride, count, index_.hash.seed, keys);
  sum_ += kernels_.sum_pairs(keys, index_.hash.hashed ? index_.hash.key_mask : ~uint64_t{0}, probing_, done_, count);
  done_ += count;
}

bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs) {
  SlotWalk walk(index.view, sums, pairs.probing());
  if (!walk.run() || walk.used() != index.view.sids) return false;
  pairs.reach(index.view.sids);
  return walk.sum() == pairs.sum();
}

// Looking up every SID would take quadratic time on crafted clusters. Instead, every used slot must hold the key of its
// own SID, no SID may occur twice, and every slot must be reachable from where its key begins without meeting an empty
// one.
void verify_hash(const IndexView& index) {
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
    check_slot_key(kExplain, index, slot, key_of_ordinal);
    check_slot_place(kExplain, index, slot, before++);
  }
}

}  // namespace sidbeam
