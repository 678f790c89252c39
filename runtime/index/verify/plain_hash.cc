// SPDX-License-Identifier: Apache-2.0
#include "index/verify/plain_hash.h"

#include <algorithm>

#include "index/verify/bulk_arrays.h"

namespace sidbeam {
namespace {

// Goes through the slots in order.
class SlotWalk {
 public:
  SlotWalk(const IndexView& index, SectionSums& sums)
      : hash_(index.hash),
        kernels_(bulk_kernels(index.target)),
        probing_{hash_.mix, hash_.capacity - 1, hash_.probes - 1},
        summed_keys_(sums, {hash_.keys, sizeof *hash_.keys}),
        summed_ordinals_(sums, hash_.ordinals) {}

  // False where a slot cannot be reached from where its key begins, or an empty slot has an ordinal.
  bool run() {
    uint64_t before = 0;  // used slots at the end, whose run continues at slot 0
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

  // Counts, for each used slot of the block, the used slots that precede it without an empty one between.
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
  uint64_t first_ = 0, last_ = 0;  // where the current run of used slots began, and its last slot
  uint64_t used_ = 0, sum_ = 0;
  UsedSlots slots_;
};

}  // namespace

bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs) {
  SlotWalk walk(index.view, sums);
  if (!walk.run() || walk.used() != index.view.sids) return false;
  pairs.reach(index.view.sids);
  return walk.sum() == pairs.sum();
}

}  // namespace sidbeam
