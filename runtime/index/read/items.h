// Finds the ids of item rows, and the ordinals that they belong to. Safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "index/views.h"

namespace sidbeam {

// The ordinal to which an item row < row_count() belongs.
uint64_t item_ordinal(const IndexView& index, uint64_t row);
// The name of an item row < row_count() of an index with string ids, and the id of one with integer ids.
std::string_view item_name(const IndexView& index, uint64_t row);
int64_t item_id(const IndexView& index, uint64_t row);
// The first row >= `from` with this id (integer ids) or name (string ids), or -1.
int64_t find_item(const IndexView& index, int64_t id, std::string_view name, uint64_t from);

}  // namespace sidbeam
