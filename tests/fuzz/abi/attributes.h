// Columns of attributes, as builders declare them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

inline constexpr int32_t kAttributes = 5;

// Arrays of a column, each of exactly the size that it needs.
struct Column {
  Array<uint8_t> valid, bools;
  Array<int64_t> integers, offsets, lists;
  Array<float> numbers;
  Array<char> text;
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
};

// Values of attribute `which`, 0 .. kAttributes - 1, for some rows.
Column draw_column(World& world, int32_t which, int64_t count);

}  // namespace fuzz::abi
