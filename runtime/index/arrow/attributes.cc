// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/attributes.h"

#include <cmath>

#include "support/error.h"

namespace sidbeam::arrow {
namespace {

using ll = long long;

[[noreturn]] void refuse(const Field& field, ll row, const std::string& what, const char* expected) {
  fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld is %s, expected %s", field.shown.c_str(), row, what.c_str(),
       expected);
}

bool holds_text(const Field& field) {
  if (field.dictionary.empty()) return is_text(field.type);
  return is_integer(field.type) && is_text(field.dictionary[0].type);
}

}  // namespace

AttributeType attribute_type_of(const Field& column) {
  if (holds_text(column)) return AttributeType::kString;
  if (column.dictionary.empty()) {
    if (is_integer(column.type)) return AttributeType::kI64;
    if (is_number(column.type)) return AttributeType::kF32;
    if (column.type == Type::kBool) return AttributeType::kBool;
    if (is_list(column.type) && holds_text(column.children[0])) return AttributeType::kStringList;
  }
  fail(SIDBEAM_INVALID_ARGUMENT,
       "column '%s' has the format '%s'%s, expected integers, floats, bool, text or lists of text for an attribute",
       column.shown.c_str(), column.format.c_str(), column.dictionary.empty() ? "" : " in a dictionary");
}

AttributeCells::Strings AttributeCells::strings_of(const Field& field, const ArrowArray& array) {
  Strings strings;
  strings.field = &field;
  strings.indexed = !field.dictionary.empty();
  if (strings.indexed) strings.indices = Numbers(field, array);
  strings.texts = strings.indexed ? Texts(field.dictionary[0], *array.dictionary) : Texts(field, array);
  return strings;
}

// Nothing where it is null.
std::optional<std::string_view> AttributeCells::Strings::at(int64_t i, ll row) const {
  int64_t place = i;
  if (indexed) {
    if (indices.nulls.at(i)) return std::nullopt;
    place =
        with_type(indices.type, [&](auto zero) { return static_cast<int64_t>(load<decltype(zero)>(indices.data, i)); });
    if (place < 0 || place >= texts.length)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld: index %s, expected one of the %lld of its dictionary",
           field->shown.c_str(), row, indices.text(i).c_str(), static_cast<ll>(texts.length));
  }
  if (texts.nulls.at(place)) return std::nullopt;
  return texts.at(place);
}

AttributeCells::AttributeCells(const Field& field, const Sids& sids, const ArrowArray& column) : field_(field) {
  check_array(field, column, sids.first + sids.rows);
  nulls_ = Nulls(column);
  if (holds_text(field)) {
    strings_ = strings_of(field, column);
  } else if (is_list(field.type)) {
    lists_ = Lists(field, column);
    strings_ = strings_of(field.children[0], *column.children[0]);
  } else if (field.type == Type::kBool) {
    bits_ = column.length > 0 ? static_cast<const uint8_t*>(column.buffers[1]) : nullptr;
    offset_ = column.offset;
  } else {
    numbers_ = Numbers(field, column);
  }
}

bool AttributeCells::is_missing(int64_t row) const {
  return is_number(field_.type) && field_.dictionary.empty() ? numbers_.missing(row) : nulls_.at(row);
}

void AttributeCells::read_strings(const Pairs& pairs, Arrays& out) const {
  for (int64_t i = 0; i < pairs.count; ++i) {
    const auto text = strings_.at(pairs.row(i), static_cast<ll>(pairs.number(i)));
    out.valid[i] = text.has_value();
    out.strings[i] = text.value_or(std::string_view());
  }
}

void AttributeCells::read_lists(const Pairs& pairs, const Allocator& allocator, Arrays& out) const {
  out.lists[0] = 0;
  for (int64_t i = 0; i < pairs.count; ++i)
    out.lists[i + 1] = out.lists[i] + (out.valid[i] != 0 ? lists_.span(pairs.row(i)).count : 0);
  out.strings = Buffer<std::string_view>(allocator, out.lists[pairs.count]);
  for (int64_t i = 0; i < pairs.count; ++i) {
    if (out.valid[i] == 0) continue;
    const Span span = lists_.span(pairs.row(i));
    for (int64_t k = 0; k < span.count; ++k) {
      const auto text = strings_.at(span.begin + k, static_cast<ll>(pairs.number(i)));
      if (!text) refuse(field_, static_cast<ll>(pairs.number(i)), "a list with a null", "text in it");
      out.strings[out.lists[i] + k] = *text;
    }
  }
}

void AttributeCells::refuse_number(const Pairs& pairs, int64_t i, const char* expected) const {
  refuse(field_, static_cast<ll>(pairs.number(i)), numbers_.text(pairs.row(i)), expected);
}

void AttributeCells::read_integers(const Pairs& pairs, Arrays& out) const {
  with_type(numbers_.type, [&](auto zero) {
    for (int64_t i = 0; i < pairs.count; ++i) {
      const auto value = load<decltype(zero)>(numbers_.data, pairs.row(i));
      out.integers[i] = static_cast<int64_t>(+value);
      if (out.valid[i] != 0 && value > 0 && out.integers[i] < 0) refuse_number(pairs, i, "an integer of 64 bits");
    }
  });
}

void AttributeCells::read_floats(const Pairs& pairs, Arrays& out) const {
  with_type(numbers_.type, [&](auto zero) {
    for (int64_t i = 0; i < pairs.count; ++i) {
      const auto value = load<decltype(zero)>(numbers_.data, pairs.row(i));
      out.numbers[i] = static_cast<float>(value);
      const bool too_large = std::isinf(out.numbers[i]) && !std::isinf(static_cast<double>(value));
      if (out.valid[i] != 0 && too_large) refuse_number(pairs, i, "a number of 32 bits");
    }
  });
}

void AttributeCells::read_bools(const Pairs& pairs, Arrays& out) const {
  for (int64_t i = 0; i < pairs.count; ++i) {
    const int64_t bit = offset_ + pairs.row(i);
    out.bools[i] = bits_[bit >> 3] >> (bit & 7) & 1;
  }
}

AttributeCells::Arrays::Arrays(const AttributeCells& cells, const Pairs& pairs, AttributeType type,
                               const Allocator& allocator)
    : valid(allocator, pairs.count) {
  const int64_t count = pairs.count;
  for (int64_t i = 0; i < count; ++i) valid[i] = !cells.is_missing(pairs.row(i));
  switch (type) {
    case AttributeType::kI64:
      integers = Buffer<int64_t>(allocator, count);
      cells.read_integers(pairs, *this);
      break;
    case AttributeType::kF32:
      numbers = Buffer<float>(allocator, count);
      cells.read_floats(pairs, *this);
      break;
    case AttributeType::kBool:
      bools = Buffer<uint8_t>(allocator, count);
      cells.read_bools(pairs, *this);
      break;
    case AttributeType::kString:
      strings = Buffer<std::string_view>(allocator, count);
      cells.read_strings(pairs, *this);
      break;
    case AttributeType::kStringList:
      lists = Buffer<int64_t>(allocator, count + 1);
      cells.read_lists(pairs, allocator, *this);
      values.lists = lists.data();
      break;
  }
  values.count = count;
  values.valid = valid.data();
  values.integers = integers.data();
  values.numbers = numbers.data();
  values.bools = bools.data();
  values.strings = strings.data();
  values.string_count = strings.size();
}

}  // namespace sidbeam::arrow
