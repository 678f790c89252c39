// What a request's own lists of items leave of an index under a filter: for excluded items the edges, SIDs and item
// rows that they take away, for an allow list those that it leaves. An edge is blocked once all its allowed SIDs are;
// the search goes up from the SIDs and stops where another child is left. Numbers are listed at every level, since a
// caller may come with any state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/read/lookup.h"
#include "index/rules/row_starts.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

// Rising and distinct.
struct SortedRows {
  const uint64_t* rows = nullptr;
  int64_t count = 0;
};

// What a filter leaves, or all.
struct FilteredIndex {
  const IndexView& index;
  const EdgeParents& parents;
  const RulesView* filter = nullptr;

  const uint64_t* row_bits() const { return filter != nullptr ? filter->rows.bits : nullptr; }
  const uint64_t* edge_bits(int32_t level) const {
    return filter != nullptr ? filter->level[level].edges.bits : nullptr;
  }
};

// Memory for a list of numbers, to be used again for another.
struct StoredList {
  Buffer<uint8_t> numbers;
  Buffer<uint32_t> first;

  // Keeps `count` numbers, which rise and are below `universe`. The view is valid until the next call.
  NumberList store(const uint64_t* from, int64_t count, uint64_t universe, const Allocator& allocator);
  int64_t bytes() const { return numbers.bytes() + first.bytes(); }
};

// Memory for the lists of one request, to be used again for another's.
class RequestLists {
 public:
  // Lists excluded rows, those that `before` (may be null) excludes included.
  void exclude(const FilteredIndex& of, const SortedRows& rows, const RequestLists* before, const Allocator& allocator);
  // Lists the rows of an allow list which the filter allows.
  void allow_only(const FilteredIndex& of, const SortedRows& rows, const Allocator& allocator);

  const RulesView& view() const { return view_; }
  // How many rows and SIDs are listed.
  int64_t rows() const { return static_cast<int64_t>(view_.rows.listed.count); }
  int64_t sids() const { return sid_count_; }
  int64_t bytes() const;

 private:
  // Numbers of the level that is being worked on: those that are new, and all of them.
  struct Work {
    Buffer<uint64_t> fresh, all;
    int64_t fresh_count = 0, count = 0;
  };

  void begin(const FilteredIndex& of, bool only_listed, int64_t count, const Allocator& allocator);
  void list_levels(const FilteredIndex& of, const RequestLists* before, const Allocator& allocator);
  template <class ParentOf>
  int64_t nodes_above(const uint64_t* bits, const ParentOf& parent_of, uint64_t* nodes) const;
  void list_sids(const FilteredIndex& of);
  void climb(const FilteredIndex& of, int32_t level);
  void add_leaves(const FilteredIndex& of, int32_t level);
  void merge(const NumberList* before, const Allocator& allocator);
  NumberList store(size_t place, uint64_t universe, const Allocator& allocator);

  std::vector<StoredList> lists_;  // of rows, of SIDs, of the levels from 0 on
  Buffer<LevelRules> levels_;
  Work work_;
  Buffer<uint64_t> sids_;  // that are newly listed
  Buffer<Leaf> leaves_;    // theirs, where lengths vary
  int64_t sid_count_ = 0, fresh_sids_ = 0;
  RulesView view_;
};

}  // namespace sidbeam
