// Finds the item rows of an id: a hash table of rows, made when ids are first looked up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "index/read/find.h"
#include "index/read/repeats.h"
#include "index/views.h"
#include "support/hashing.h"
#include "support/memory.h"

namespace sidbeam {

// An id of an index: a number, or a name where ids are strings.
struct ItemId {
  int64_t number = 0;
  std::string_view name;
};

// That of an item row.
ItemId id_of(const IndexView& index, uint64_t row);

class IdTable {
 public:
  // One pass over the ids. The hash is secret, so that nobody can choose ids that crowd.
  IdTable(const IndexView& index, const Allocator& allocator);
  // Of an index that has ids. In parts, between which what lies ahead can be fetched.
  uint64_t hash(const IndexView& index, const ItemId& id) const;
  void prefetch(uint64_t hash) const;
  // The id with which find() will compare.
  void prefetch_id(const IndexView& index, uint64_t hash) const;
  // The first row with this id, or -1.
  int64_t find(const IndexView& index, const ItemId& id, uint64_t hash) const;
  // Whether some id has several rows, which are then among the index's repeats.
  bool repeats() const { return repeats_; }

 private:
  // The row of the first entry with the hash's tag whose row `is_it` accepts, or -1. `place` becomes that entry's, or
  // the one where it would be.
  template <class IsIt>
  int64_t probe(uint64_t hash, uint64_t& place, const IsIt& is_it) const;
  uint64_t tag(uint64_t hash) const { return hash >> 1 >> (63 - tag_bits_); }  // of 0 bits too

  KeyMix mix_;
  // [places_] a row and 1, and above it bits of the hash, so that another's id is seldom looked at; 0: none.
  UintBuffer entries_;
  uint64_t places_ = 0;
  int row_bits_ = 0, tag_bits_ = 0;
  bool repeats_ = false;
};

// Calls visit(row) for every row of the item whose first row this is; with the repeats of the index where an id has
// several rows.
template <class Visit>
void for_each_row(const IndexView& index, const RepeatsView* repeats, uint64_t first, const Visit& visit) {
  const uint64_t count = repeats != nullptr ? repeats->count : 0;
  const uint64_t at = first_where(0, count, [&](uint64_t i) { return repeats->rows[i] >= first; });
  if (at == count || repeats->rows[at] != first) return visit(first);
  const uint64_t item = repeats->items[at];
  for (uint64_t k = repeats->offsets[item]; k < repeats->offsets[item + 1]; ++k) {
    // The same pair may have several rows, which one visit covers.
    if (k > repeats->offsets[item] && repeats->ordinals[k] == repeats->ordinals[k - 1]) continue;
    const OrdinalRange rows = item_rows(index, repeats->ordinals[k]);
    uint64_t i = first_where(0, count, [&](uint64_t j) { return repeats->rows[j] >= rows.lo; });
    for (; i < count && repeats->rows[i] < rows.hi; ++i)
      if (repeats->items[i] == item) visit(repeats->rows[i]);
  }
}

}  // namespace sidbeam
