// A filter at every level: from bits of item rows to bits of SIDs and of each level's edges, bottom-up. Where every
// node of a level has one edge, the level and the one before share their bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/rules/row_starts.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

class DerivedBits {
 public:
  // `rows` are [items] bits, those after the last 0, and stay the caller's as long as this does.
  DerivedBits(const IndexView& index, const EdgeParents& parents, const uint64_t* rows, int threads,
              const Allocator& allocator);
  // The same as a change of `before`, at the cost of a copy and of the item rows that differ: `changed`, rising.
  DerivedBits(const IndexView& index, const EdgeParents& parents, const uint64_t* rows, const DerivedBits& before,
              const uint64_t* changed, int64_t count, const Allocator& allocator);

  // Borrows from this.
  const RulesView& view() const { return view_; }
  uint64_t sids() const { return sid_count_; }  // that are allowed
  int64_t bytes() const;

 private:
  struct LevelBits {
    Buffer<uint64_t> edges;  // empty where the next level's, or the SIDs', are the same
    Buffer<uint64_t> masks;
    Buffer<uint32_t> mask_counts;
  };
  void derive_sids(const IndexView& index, const EdgeParents& parents, int threads, const Allocator& allocator);
  void derive_above_tail(const IndexView& index, const EdgeParents& parents, int threads, const Allocator& allocator);
  void derive_last_level(const IndexView& index, const Allocator& allocator);
  void derive_level(const IndexView& index, const EdgeParents& parents, int32_t number, int threads,
                    const Allocator& allocator);
  void derive_masks(const IndexView& index, int32_t number, int threads, const Allocator& allocator);
  const uint64_t* bits_of(int32_t number) const;
  // Of an update: patches the masks over the `edges` of a level whose bits have changed, and replaces these by the
  // edges of the level above whose bits change with them. Returns their number.
  int64_t patch_level(const IndexView& index, const EdgeParents& parents, int32_t number, uint64_t* edges,
                      int64_t count);
  void patch_mask(const LevelView& level, int32_t number, int64_t dense, uint64_t edge, bool value);
  struct ChangedSids {
    const uint64_t* sids;
    const Leaf* leaves;
    int64_t count;
  };
  int64_t add_leaves(const IndexView& index, int32_t number, const ChangedSids& changed, uint64_t* edges,
                     int64_t count);
  void set_view(const IndexView& index, const Allocator& allocator);

  Buffer<uint64_t> sids_;  // empty where every SID has one row
  std::vector<LevelBits> levels_;
  Buffer<LevelRules> level_rules_;
  RulesView view_;
  uint64_t sid_count_ = 0;
};

}  // namespace sidbeam
