// What the caller gives to builders and to live catalogues alike: pairs, and lists of items.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "world.h"

namespace fuzz::abi {

// What pairs must be like.
struct Shape {
  int32_t levels = 0, id_type = 0;
  bool variable_length = false;
  std::span<const int32_t> codes;
};
Shape shape_of(const Builder& builder);
Shape shape_of(const sidbeam_index_info& info);

struct Pairs {
  Array<int32_t> codes, lengths;
  Array<int64_t> ids, priorities;
  int64_t count;
};
// `fault` 1 makes a code wrong and 2 a length; other faults are the caller's, and there is a pair for them.
Pairs draw_pairs(World& world, const Shape& shape, bool with_ids, int32_t fault);

struct Names {
  Array<char> bytes;
  Array<int64_t> offsets;
};
Names draw_names(World& world, int64_t count);

// An item list in memory of exactly its size.
struct DrawnItems {
  Array<int64_t> numbers, offsets;
  Array<char> names;
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
};
// Items of an index, some of which there are not. `fault` 1 .. 4 puts something wrong.
DrawnItems draw_items(World& world, const sidbeam_index_info& info, int32_t fault);

}  // namespace fuzz::abi
