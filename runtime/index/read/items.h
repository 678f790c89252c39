// Item rows: ids, and the way back to ordinals. Safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "index/views.h"

namespace sidbeam {

// The ordinal that an item row < items belongs to.
uint64_t item_ordinal(const IndexView& index, uint64_t row);
// The name of an item row < items, with string ids.
std::string_view item_name(const IndexView& index, uint64_t row);
// The first row >= `from` with this id (integer ids) or name (string ids), or -1.
int64_t find_item(const IndexView& index, int64_t id, std::string_view name, uint64_t from);

}  // namespace sidbeam
