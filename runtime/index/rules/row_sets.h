// Sets of item rows that hosts have as bitmaps, bytes or lists. Each throws INVALID_ARGUMENT where what is given is not
// one per item. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "index/rules/row_bits.h"

namespace sidbeam {

// `count` bits from bit `offset` on, lowest bit of a byte first: Arrow's order, and numpy.packbits(bitorder="little").
// Reads no byte but those that the bits lie in, of which there must be enough; more may follow.
RowBits rows_from_bits(std::span<const uint8_t> bytes, uint64_t offset, uint64_t count, uint64_t items,
                       const Allocator& allocator);

// A byte per row; all but 0 say that it is in the set.
RowBits rows_from_bytes(std::span<const uint8_t> bytes, uint64_t items, const Allocator& allocator);

// Rows by number, in any order, each any number of times; a row that no item has is an error.
RowBits rows_from_list(std::span<const int64_t> rows, uint64_t items, const Allocator& allocator);

// Roaring's portable format of 32 bits, whole and nothing behind it: roaring.cc says what is checked.
RowBits rows_from_roaring(std::span<const uint8_t> bytes, uint64_t items, const Allocator& allocator);

}  // namespace sidbeam
