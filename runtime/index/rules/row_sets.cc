// SPDX-License-Identifier: Apache-2.0
#include "index/rules/row_sets.h"

#include <algorithm>
#include <cstring>

#include "index/rules/bits.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

void check_count(const char* what, uint64_t count, uint64_t items) {
  if (count != items)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: %llu %s, expected %llu, one per item", static_cast<ull>(count), what,
         static_cast<ull>(items));
}

// The first 64 bits of `bytes`, or all of them and then zeros.
uint64_t load_word(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
  return word;
}

}  // namespace

RowBits rows_from_bits(std::span<const uint8_t> bytes, uint64_t offset, uint64_t count, uint64_t items,
                       const Allocator& allocator) {
  check_count("bits", count, items);
  const uint64_t most = bytes.size() * uint64_t{8};
  if (offset > most || count > most - offset)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: %llu bits from bit %llu on in %zu bytes, expected them to end there",
         static_cast<ull>(count), static_cast<ull>(offset), bytes.size());
  const std::span<const uint8_t> given = bytes.subspan(offset / 8, (offset % 8 + count + 7) / 8);
  RowBits rows = make_bits(items, allocator);
  for (uint64_t word = 0; word < row_words(items); ++word) {
    const std::span<const uint8_t> from = given.subspan(word * 8);
    uint64_t bits = load_word(from) >> offset % 8;
    if (offset % 8 != 0 && from.size() > 8) bits |= uint64_t{from[8]} << (64 - offset % 8);
    rows[static_cast<int64_t>(word)] = bits & row_mask(word, items);
  }
  return rows;
}

RowBits rows_from_bytes(std::span<const uint8_t> bytes, uint64_t items, const Allocator& allocator) {
  check_count("bytes", bytes.size(), items);
  RowBits rows = make_bits(items, allocator);
  for (uint64_t word = 0; word < row_words(items); ++word) {
    const std::span<const uint8_t> from = bytes.subspan(word * 64);
    alignas(64) uint8_t flags[64] = {};
    if (from.size() >= sizeof flags) {
      for (size_t i = 0; i < sizeof flags; ++i) flags[i] = from[i] != 0;
    } else {
      for (size_t i = 0; i < from.size(); ++i) flags[i] = from[i] != 0;
    }
    rows[static_cast<int64_t>(word)] = pack_flags(flags);
  }
  return rows;
}

RowBits rows_from_list(std::span<const int64_t> rows, uint64_t items, const Allocator& allocator) {
  RowBits bits = RowBits::zeroed(allocator, static_cast<int64_t>(row_words(items)) + 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<uint64_t>(rows[i]);  // a negative one is too large
    if (row >= items)
      fail(SIDBEAM_INVALID_ARGUMENT, "filter: rows[%zu] is %lld, expected one of %llu rows, from 0 on", i,
           static_cast<long long>(rows[i]), static_cast<ull>(items));
    bits[rows[i] / 64] |= uint64_t{1} << row % 64;
  }
  return bits;
}

}  // namespace sidbeam
