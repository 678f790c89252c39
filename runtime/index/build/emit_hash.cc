// SPDX-License-Identifier: Apache-2.0
#include "index/build/emit_hash.h"

#include <algorithm>
#include <vector>

#include "index/hash_seed.h"
#include "index/read/lookup.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr uint64_t kEmpty = ~uint64_t{0};

// Fills the hash set, with one seed after another until one works.
class HashFill {
 public:
  HashFill(const SortedCatalogue& sorted, Progress& progress) : sorted_(sorted), progress_(progress) {
    for (int l = 0; l < sorted.layout.levels; ++l) columns_.push_back(sorted.column(l));
  }

  // Returns whether all SIDs found a slot. If not, the contents of the sections are useless.
  bool run(const IndexView& view) {
    const HashView& hash = view.hash;
    auto* keys = const_cast<uint64_t*>(hash.keys);
    auto* ordinals = static_cast<uint8_t*>(const_cast<void*>(hash.ordinals.data));
    std::fill(keys, keys + hash.capacity, kEmpty);
    std::fill_n(ordinals, hash.capacity * static_cast<uint64_t>(hash.ordinals.width), uint8_t{0});
    return hash.ordinals.width == 4 ? place(view, keys, reinterpret_cast<uint32_t*>(ordinals))
                                    : place(view, keys, reinterpret_cast<uint64_t*>(ordinals));
  }
  // The SID that found no slot.
  int64_t stuck() const { return stuck_; }

 private:
  template <class Ordinal>
  bool place(const IndexView& view, uint64_t* keys, Ordinal* ordinals) {
    constexpr int64_t kBatch = 64;  // slots whose cache misses overlap
    const HashView& hash = view.hash;
    const uint64_t slots = hash.capacity - 1, probes = hash.probes;
    struct {
      uint64_t key, slot;
    } batch[kBatch];
    for (int64_t begin = 0; begin < sorted_.sids; begin += kBatch) {
      const int64_t end = std::min(sorted_.sids, begin + kBatch);
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t key = key_of(view, i), slot = mix_key(hash.mix, key) & slots;
        batch[i - begin] = {key, slot};
        __builtin_prefetch(keys + slot, 1);
      }
      for (int64_t i = begin; i < end; ++i) {
        uint64_t slot = batch[i - begin].slot;
        for (uint64_t probe = 1; keys[slot] != kEmpty; ++probe, slot = (slot + 1) & slots) {
          if (probe < probes) continue;
          stuck_ = i;
          return false;
        }
        keys[slot] = batch[i - begin].key;
        ordinals[slot] = static_cast<Ordinal>(i);
      }
      if (end % kTaskSids == 0 || end == sorted_.sids) report(end);
    }
    return true;
  }

  uint64_t key_of(const IndexView& view, int64_t i) const {
    int32_t codes[kMaxLevels];
    for (size_t l = 0; l < columns_.size(); ++l) codes[l] = static_cast<int32_t>(columns_[l][i]);
    return hash_key(view, codes);
  }

  // Progress that an earlier seed already reported is not reported again.
  void report(int64_t done) {
    progress_.advance(std::max(done - reported_, int64_t{0}));
    reported_ = std::max(done, reported_);
  }

  const SortedCatalogue& sorted_;
  Progress& progress_;
  std::vector<CodeColumn> columns_;
  int64_t reported_ = 0, stuck_ = -1;
};

}  // namespace

void emit_hash(const SortedCatalogue& sorted, FileHeader& header, uint8_t* base, Progress& progress) {
  HashFill fill(sorted, progress);
  const int seeds = header.own_hash_seed ? 1 : kHashSeeds;
  for (int i = 0; i < seeds; ++i) {
    if (!header.own_hash_seed) header.shape.hash_seed = hash_seed(i);
    if (fill.run(view_of(header, base))) return;
  }
  fail(SIDBEAM_INVALID_ARGUMENT,
       "the SIDs crowd the hash set: with %s SID %lld lies %llu slots or more from where its key begins, as only SIDs "
       "chosen for it do: expected %s hash_seed, a secret number, or kinds without SIDBEAM_KIND_HASH",
       header.own_hash_seed ? "hash_seed" : "the last seed of the list, and others with those before it,",
       static_cast<long long>(fill.stuck()), static_cast<unsigned long long>(kMostProbes),
       header.own_hash_seed ? "another" : "a");
}

}  // namespace sidbeam
