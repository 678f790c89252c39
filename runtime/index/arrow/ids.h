// The items and the priorities of a batch. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "index/arrow/sids.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam::arrow {

struct Items {
  const Field* field = nullptr;  // of the column
  bool indexed = false;          // the column holds indices into a dictionary
  Numbers indices;
  Numbers numbers;  // of the column, or of its dictionary; or,
  Texts texts;      // where they are text
};

bool are_text(const Field& column);
std::optional<Items> read_items(const Field& batch, const Columns& columns, const Sids& sids, const ArrowArray& array);
std::optional<Numbers> read_priorities(const Field& batch, const Columns& columns, const Sids& sids,
                                       const ArrowArray& array);

// All of these throw INVALID_ARGUMENT with the row where a value is null or does not fit.
// The ids themselves, if that is what lies there for these pairs; otherwise nullptr.
const int64_t* ids_in_place(const Items& items, const Pairs& pairs, IdType id_type);
void read_ids(const Items& items, const Pairs& pairs, IdType id_type, int64_t begin, int64_t count, int64_t* ids);
// One name per pair, within the batch's memory.
Buffer<std::string_view> read_names(const Items& items, const Pairs& pairs, const Allocator& allocator);
const int64_t* priorities_in_place(const Numbers& numbers, const Pairs& pairs);
void read_ranks(const Field& field, const Numbers& numbers, const Pairs& pairs, int64_t begin, int64_t count,
                int64_t* priorities);

}  // namespace sidbeam::arrow
