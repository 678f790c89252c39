// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/ids.h"

#include <cmath>
#include <limits>

#include "support/error.h"
#include "support/utf8.h"

namespace sidbeam::arrow {
namespace {

using ll = long long;

const ArrowArray& column_of(const Field& field, const Sids& sids, const ArrowArray& array, int column) {
  const ArrowArray& child = *array.children[column];
  check_array(field, child, sids.first + sids.rows);
  return child;
}

[[noreturn]] void refuse(const Field& field, ll row, const char* what, const char* expected) {
  fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld is %s, expected %s", field.shown.c_str(), row, what, expected);
}

// As 64 bits; false where they cannot hold it. Of unsigned ids the bits are those of uint64.
template <class T>
bool whole(T value, bool is_unsigned, int64_t& out) {
  if constexpr (std::is_floating_point_v<T>) {
    // From here on a float no longer tells neighbours apart (2^53 may have been 2^53 + 1), and an id would be another
    // one's.
    constexpr T kEnd = T{1} * (int64_t{1} << std::numeric_limits<T>::digits);
    if (!(std::abs(value) < kEnd) || std::trunc(value) != value) return false;
    out = static_cast<int64_t>(value);
    return out >= 0 || !is_unsigned;
  } else {
    out = static_cast<int64_t>(+value);  // the number, also of what C++ calls a char
    if constexpr (std::is_same_v<T, uint64_t>) return is_unsigned || out >= 0;
    return !is_unsigned || out >= 0;
  }
}

bool whole_at(const Numbers& numbers, int64_t i, bool is_unsigned, int64_t& out) {
  return with_type(numbers.type,
                   [&](auto zero) { return whole(load<decltype(zero)>(numbers.data, i), is_unsigned, out); });
}

// Those of `numbers` that lie one after the other from `at` on; whether all fit.
bool copy_whole(const Numbers& numbers, int64_t at, int64_t count, bool is_unsigned, int64_t* out) {
  return with_type(numbers.type, [&](auto zero) {
    bool fit = true;
    for (int64_t i = 0; i < count; ++i) fit &= whole(load<decltype(zero)>(numbers.data, at + i), is_unsigned, out[i]);
    return fit;
  });
}

const char* what_fits(const Numbers& numbers, bool is_unsigned) {
  if (numbers.type == Type::kF32) return is_unsigned ? "a whole number, 0 to 2^24 - 1" : "a whole number below 2^24";
  if (numbers.type == Type::kF64) return is_unsigned ? "a whole number, 0 to 2^53 - 1" : "a whole number below 2^53";
  return is_unsigned ? "an integer, 0 to 2^64 - 1" : "an integer of 64 bits";
}

void read_whole(const Field& field, const Numbers& numbers, int64_t i, ll row, bool is_unsigned, int64_t& out) {
  if (numbers.missing(i)) refuse(field, row, "null", "a number");
  if (!whole_at(numbers, i, is_unsigned, out))
    refuse(field, row, numbers.text(i).c_str(), what_fits(numbers, is_unsigned));
}

// Where in its dictionary the value of a pair is, or in the column itself.
int64_t value_place(const Items& items, const Pairs& pairs, int64_t i) {
  if (!items.indexed) return pairs.row(i);
  const auto row = static_cast<ll>(pairs.number(i));
  int64_t index = 0;
  if (items.indices.nulls.at(pairs.row(i))) refuse(*items.field, row, "null", "an index of its dictionary");
  const bool is_number = whole_at(items.indices, pairs.row(i), false, index);
  const int64_t values = are_text(*items.field) ? items.texts.length : items.numbers.length;
  if (!is_number || index < 0 || index >= values)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld: index %s, expected one of the %lld of its dictionary",
         items.field->shown.c_str(), row, items.indices.text(pairs.row(i)).c_str(), static_cast<ll>(values));
  return index;
}

const int64_t* in_place(const Numbers& numbers, const Pairs& pairs) {
  const bool plain = numbers.type == Type::kI64 && !numbers.nulls.any() && pairs.rows.empty() && pairs.count > 0 &&
                     reinterpret_cast<uintptr_t>(numbers.data) % alignof(int64_t) == 0;
  return plain ? static_cast<const int64_t*>(numbers.data) + pairs.row(0) : nullptr;
}

}  // namespace

bool are_text(const Field& column) {
  return is_text(column.dictionary.empty() ? column.type : column.dictionary[0].type);
}

std::optional<Items> read_items(const Field& batch, const Columns& columns, const Sids& sids, const ArrowArray& array) {
  if (columns.item < 0) return std::nullopt;
  const Field& field = batch.children[static_cast<size_t>(columns.item)];
  const ArrowArray& column = column_of(field, sids, array, columns.item);
  Items items;
  items.field = &field;
  items.indexed = !field.dictionary.empty();
  if (items.indexed) items.indices = Numbers(field, column);
  const Field& values = items.indexed ? field.dictionary[0] : field;
  const ArrowArray& held = items.indexed ? *column.dictionary : column;
  if (is_text(values.type))
    items.texts = Texts(values, held);
  else
    items.numbers = Numbers(values, held);
  return items;
}

std::optional<Numbers> read_priorities(const Field& batch, const Columns& columns, const Sids& sids,
                                       const ArrowArray& array) {
  if (columns.priority < 0) return std::nullopt;
  const Field& field = batch.children[static_cast<size_t>(columns.priority)];
  return Numbers(field, column_of(field, sids, array, columns.priority));
}

const int64_t* ids_in_place(const Items& items, const Pairs& pairs, IdType id_type) {
  return items.indexed || id_type != IdType::kI64 ? nullptr : in_place(items.numbers, pairs);
}

void read_ids(const Items& items, const Pairs& pairs, IdType id_type, int64_t begin, int64_t count, int64_t* ids) {
  const bool is_unsigned = id_type == IdType::kU64;
  if (!items.indexed && !items.numbers.nulls.any() && pairs.rows.empty() &&
      copy_whole(items.numbers, pairs.row(begin), count, is_unsigned, ids))
    return;
  for (int64_t i = 0; i < count; ++i)
    read_whole(*items.field, items.numbers, value_place(items, pairs, begin + i),
               static_cast<ll>(pairs.number(begin + i)), is_unsigned, ids[i]);
}

Buffer<std::string_view> read_names(const Items& items, const Pairs& pairs, const Allocator& allocator) {
  Buffer<std::string_view> names(allocator, pairs.count);
  for (int64_t i = 0; i < pairs.count; ++i) {
    const int64_t place = value_place(items, pairs, i);
    if (items.texts.nulls.at(place)) refuse(*items.field, static_cast<ll>(pairs.number(i)), "null", "text");
    names[i] = items.texts.at(place);
    if (!is_utf8(names[i])) refuse(*items.field, static_cast<ll>(pairs.number(i)), "not UTF-8", "text that is");
  }
  return names;
}

const int64_t* priorities_in_place(const Numbers& numbers, const Pairs& pairs) { return in_place(numbers, pairs); }

void read_ranks(const Field& field, const Numbers& numbers, const Pairs& pairs, int64_t begin, int64_t count,
                int64_t* priorities) {
  if (!numbers.nulls.any() && pairs.rows.empty() && copy_whole(numbers, pairs.row(begin), count, false, priorities))
    return;
  for (int64_t i = 0; i < count; ++i)
    read_whole(field, numbers, pairs.row(begin + i), static_cast<ll>(pairs.number(begin + i)), false, priorities[i]);
}

}  // namespace sidbeam::arrow
