// Filters and the rules of constraints: sets of item rows, from what callers name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "decode/objects.h"
#include "sidbeam/constraint.h"
#include "sidbeam/filter.h"

namespace sidbeam {

// Throws where an index has no trie: rules are followed there.
void require_trie(const sidbeam_index& index);

// A caller's list, its struct read and checked; `name` is that of the argument.
struct NamedItems {
  sidbeam_item_list list;
  const char* name;
};

// Entry i of a list of ids.
ItemId id_at(const sidbeam_item_list& list, int64_t i);

// Throws where a list does not name items by their ids in the form that an index has.
void check_ids(const IndexView& index, const NamedItems& items);

// The item rows of a list, rising and distinct, and how many entries name no item.
struct ListedRows {
  Buffer<uint64_t> rows;
  int64_t count = 0, unknown = 0;

  SortedRows view() const { return {rows.data(), count}; }
};
// With `entries`, the entry that each row came from; of several the last.
ListedRows rows_of_items(const sidbeam_index& index, const NamedItems& items, Buffer<int64_t>* entries = nullptr);

std::unique_ptr<sidbeam_filter> make_filter(sidbeam_index& index, Buffer<uint64_t> rows);
std::unique_ptr<sidbeam_filter> make_filter(sidbeam_index& index, Expression expression);
std::unique_ptr<sidbeam_filter> combine_filters(int32_t op, sidbeam_filter* const* filters, int64_t count);
std::unique_ptr<sidbeam_filter> update_filter(const sidbeam_filter& filter, const NamedItems& items,
                                              const uint8_t* allowed, int64_t& unknown);

// The same filter on another index.
std::unique_ptr<sidbeam_filter> filter_on(const sidbeam_filter& filter, sidbeam_index& index);

// What a constraint allows.
int64_t allowed_sids(const sidbeam_constraint& constraint);
int64_t allowed_items(const sidbeam_constraint& constraint);

// Gives a constraint, which has its index and filter, its lists; either may be null.
void set_lists(sidbeam_constraint& constraint, const NamedItems* excluded, const NamedItems* allowed);
// The same constraint with further excluded items.
std::unique_ptr<sidbeam_constraint> exclude_more(const sidbeam_constraint& constraint, const NamedItems& excluded);

}  // namespace sidbeam
