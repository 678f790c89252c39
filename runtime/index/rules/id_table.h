// Finds the item rows of an id: a hash table of rows, made when ids are first looked up. SPDX-License-Identifier:
// Apache-2.0
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

class IdTable {
 public:
  // One pass over the ids. The hash is secret, so that nobody can choose ids that crowd.
  IdTable(const IndexView& index, const Allocator& allocator);
  // The first row with this id, or -1.
  int64_t find(const IndexView& index, const ItemId& id) const;
  // Where find() will look.
  uint64_t place_of(const IndexView& index, const ItemId& id) const;
  void prefetch(uint64_t place) const {
    __builtin_prefetch(static_cast<const char*>(rows_.view().data) + place * static_cast<uint64_t>(rows_.view().width));
  }
  // The id with which find_from() will compare first.
  void prefetch_id(const IndexView& index, uint64_t place) const {
    const uint64_t held = rows_.view()[place];
    if (held == 0) return;
    if (index.id_type == IdType::kString) {
      __builtin_prefetch(index.name_offsets + held - 1);
    } else {
      __builtin_prefetch(index.ids + held - 1);
    }
  }
  int64_t find_from(const IndexView& index, const ItemId& id, uint64_t place) const;
  // Whether some id has several rows, which are then among the index's repeats.
  bool repeats() const { return repeats_; }
  int64_t bytes() const { return bytes_; }

 private:
  KeyMix mix_;
  UintBuffer rows_;  // [places_] a row and 1; 0: none
  uint64_t places_ = 0;
  int64_t bytes_ = 0;
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
    const OrdinalRange rows = item_rows(index, repeats->ordinals[k]);
    uint64_t i = first_where(0, count, [&](uint64_t j) { return repeats->rows[j] >= rows.lo; });
    for (; i < count && repeats->rows[i] < rows.hi; ++i)
      if (repeats->items[i] == item) visit(repeats->rows[i]);
  }
}

}  // namespace sidbeam
