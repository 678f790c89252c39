// SPDX-License-Identifier: Apache-2.0
#include "index/build/attributes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/error.h"
#include "support/utf8.h"

namespace sidbeam {
namespace {

using ll = long long;

constexpr uint32_t kNoNumber = ~uint32_t{0};

// Zeros have one sign, so that equal values have equal bytes.
uint32_t bits_of(float number) { return std::bit_cast<uint32_t>(number + 0.0f); }

// Where the values of row i begin and end among all.
struct ValueSpan {
  int64_t begin, end;
};
ValueSpan span_of(const AttributeValues& values, int64_t i) {
  if (values.lists == nullptr) return {i, i + 1};
  return {values.lists[i], values.lists[i + 1]};
}

// The strings of a caller's struct. Throws unless its offsets rise.
Buffer<std::string_view> strings_of(const sidbeam_attribute_column& column, int64_t count, const Allocator& allocator) {
  if (column.offsets == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': offsets is NULL, expected %lld numbers", column.name,
         static_cast<ll>(count + 1));
  Buffer<std::string_view> strings(allocator, count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = column.offsets[i], end = column.offsets[i + 1];
    if (begin < 0 || end < begin)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': offsets[%lld] is %lld after %lld, expected to rise from 0",
           column.name, static_cast<ll>(i + 1), static_cast<ll>(end), static_cast<ll>(begin));
    if (end > begin && column.text == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': text is NULL, expected %lld bytes", column.name,
           static_cast<ll>(end));
    strings[i] = end > begin ? std::string_view(column.text + begin, static_cast<size_t>(end - begin)) : "";
  }
  return strings;
}

// How many values the lists of `count` rows have. Throws unless they rise.
int64_t check_lists(const sidbeam_attribute_column& column, int64_t count) {
  if (column.lists == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': lists is NULL, expected %lld numbers", column.name,
         static_cast<ll>(count + 1));
  for (int64_t i = 0; i <= count; ++i) {
    const int64_t before = i == 0 ? 0 : column.lists[i - 1];
    if (column.lists[i] < before)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': lists[%lld] is %lld, expected at least %lld", column.name,
           static_cast<ll>(i), static_cast<ll>(column.lists[i]), static_cast<ll>(before));
  }
  return column.lists[count];
}

}  // namespace

AttributeColumn::AttributeColumn(std::string_view given_name, AttributeType given_type, const Allocator& allocator)
    : name(given_name),
      type(given_type),
      strings(allocator),
      allocator_(allocator),
      valid_(allocator),
      narrow_(allocator),
      wide_(allocator),
      list_begins_(allocator),
      list_codes_(allocator) {}

void AttributeColumn::check_strings(const AttributeValues& values, int64_t begin) const {
  for (int64_t i = 0; i < values.count; ++i) {
    if (values.is_null(i)) continue;
    const ValueSpan span = span_of(values, i);
    for (int64_t v = span.begin; v < span.end; ++v) {
      const int64_t code = values.codes == nullptr ? v : values.codes[v];
      if (code < 0 || code >= values.string_count)
        fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': row %lld has code %lld, expected 0 to %lld", name.c_str(),
             static_cast<ll>(begin + i), static_cast<ll>(code), static_cast<ll>(values.string_count - 1));
      const std::string_view text = values.strings[code];
      if (!is_utf8(text))
        fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': row %lld has '%.*s', expected valid UTF-8", name.c_str(),
             static_cast<ll>(begin + i), static_cast<int>(std::min<size_t>(text.size(), 64)), text.data());
    }
  }
}

void AttributeColumn::check(const AttributeValues& values, int64_t begin) const {
  if (filled_ > begin && values.count > 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s' has values for row %lld already", name.c_str(),
         static_cast<ll>(begin));
  const void* const given = type == AttributeType::kI64    ? static_cast<const void*>(values.integers)
                            : type == AttributeType::kF32  ? values.numbers
                            : type == AttributeType::kBool ? static_cast<const void*>(values.bools)
                                                           : &values;
  if (given == nullptr && values.count > 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': %s is NULL, expected %lld values", name.c_str(),
         type == AttributeType::kI64   ? "integers"
         : type == AttributeType::kF32 ? "numbers"
                                       : "bools",
         static_cast<ll>(values.count));
  if (has_dictionary(type)) return check_strings(values, begin);
  for (int64_t i = 0; type == AttributeType::kF32 && i < values.count; ++i)
    if (std::isnan(values.numbers[i]) && !values.is_null(i))
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': row %lld is NaN, expected a number, or null", name.c_str(),
           static_cast<ll>(begin + i));
}

void AttributeColumn::reserve(int64_t rows) {
  valid_.reserve(rows);
  is_wide() ? wide_.reserve(rows) : narrow_.reserve(rows);
}

void AttributeColumn::complete(int64_t rows) {
  if (filled_ == 0) return;  // no row has a value
  reserve(rows);
  for (; filled_ < rows; ++filled_) valid_[filled_] = 0;
}

void AttributeColumn::set(const AttributeValues& values, int64_t begin) {
  check(values, begin);
  const int64_t end = begin + values.count;
  reserve(end);
  for (int64_t row = filled_; row < begin; ++row) valid_[row] = 0;
  for (int64_t i = 0; i < values.count; ++i) valid_[begin + i] = !values.is_null(i);
  switch (type) {
    case AttributeType::kI64:
      for (int64_t i = 0; i < values.count; ++i) wide_[begin + i] = values.integers[i];
      break;
    case AttributeType::kF32:
      for (int64_t i = 0; i < values.count; ++i) narrow_[begin + i] = bits_of(values.numbers[i]);
      break;
    case AttributeType::kBool:
      for (int64_t i = 0; i < values.count; ++i) narrow_[begin + i] = values.bools[i] != 0;
      break;
    default:
      set_strings(values, begin);
  }
  filled_ = end;
}

// With a dictionary of the caller's, numbers [string_count] remembers what its entries are here.
uint32_t AttributeColumn::number_of(const AttributeValues& values, int64_t value, Buffer<uint32_t>& numbers) {
  if (values.codes == nullptr) return strings.number_of(values.strings[value]);
  uint32_t& number = numbers[values.codes[value]];
  if (number == kNoNumber) number = strings.number_of(values.strings[values.codes[value]]);
  return number;
}

void AttributeColumn::add_list(const AttributeValues& values, int64_t i, Buffer<uint32_t>& numbers) {
  const ValueSpan span = span_of(values, i);
  list_codes_.reserve(list_code_count_ + span.end - span.begin);
  list_begins_.reserve(lists_ + 2);
  list_begins_[lists_] = list_code_count_;
  ++list_marks_;
  for (int64_t v = span.begin; v < span.end; ++v) {
    const uint32_t number = number_of(values, v, numbers);
    if (strings.is_first_in(number, list_marks_)) list_codes_[list_code_count_++] = number;
  }
  list_begins_[++lists_] = list_code_count_;
}

void AttributeColumn::set_strings(const AttributeValues& values, int64_t begin) {
  Buffer<uint32_t> numbers(allocator_, values.codes == nullptr ? 0 : values.string_count);
  std::fill(numbers.begin(), numbers.end(), kNoNumber);
  for (int64_t i = 0; i < values.count; ++i) {
    if (values.is_null(i)) continue;
    if (type == AttributeType::kString) {
      narrow_[begin + i] = number_of(values, i, numbers);
    } else {
      add_list(values, i, numbers);
      wide_[begin + i] = lists_ - 1;
    }
  }
}

// The room of lists goes back too: their numbers rise with the rows.
void AttributeColumn::rewind(int64_t rows) {
  if (filled_ <= rows) return;
  filled_ = rows;
  if (type != AttributeType::kStringList) return;
  while (rows > 0 && valid_[rows - 1] == 0) --rows;
  lists_ = rows > 0 ? wide_[rows - 1] + 1 : 0;
  list_code_count_ = lists_ > 0 ? list_begins_[lists_] : 0;
}

bool AttributeColumn::merge(int64_t row, int64_t other) {
  if (is_null(other)) return true;
  if (is_null(row)) {
    valid_[row] = 1;
    is_wide() ? void(wide_[row] = wide_[other]) : void(narrow_[row] = narrow_[other]);
    return true;
  }
  return equal(row, other);
}

void AttributeColumn::copy(int64_t row, int64_t other) {
  valid_[row] = is_null(other) ? 0 : 1;
  if (is_null(other)) return;
  is_wide() ? void(wide_[row] = wide_[other]) : void(narrow_[row] = narrow_[other]);
}

bool AttributeColumn::equal(int64_t row, int64_t other) const {
  if (is_null(row) || is_null(other)) return is_null(row) && is_null(other);
  if (type == AttributeType::kI64) return wide_[row] == wide_[other];
  if (type != AttributeType::kStringList) return narrow_[row] == narrow_[other];
  bool same = list_size(row) == list_size(other);
  for (int64_t i = 0; same && i < list_size(row); ++i) same = list_string(row, i) == list_string(other, i);
  return same;
}

std::string AttributeColumn::text(int64_t row) const {
  if (type == AttributeType::kI64) return std::to_string(integer(row));
  if (type == AttributeType::kF32) return std::to_string(number(row));
  if (type == AttributeType::kBool) return truth(row) ? "true" : "false";
  constexpr size_t kShown = 64;
  std::string out;
  const auto quote = [&](uint32_t number) { out.append("'").append(strings[number].substr(0, kShown)).append("'"); };
  if (type == AttributeType::kString) {
    quote(string(row));
    return out;
  }
  out = '[';
  for (int64_t i = 0; i < list_size(row) && out.size() < kShown; ++i) {
    if (i > 0) out.append(", ");
    quote(list_string(row, i));
  }
  out.push_back(']');
  return out;
}

int64_t AttributeColumn::bytes() const {
  return strings.bytes() + valid_.bytes() + narrow_.bytes() + wide_.bytes() + list_begins_.bytes() +
         list_codes_.bytes();
}

void AttributeColumns::declare(const char* name, int32_t type, int64_t rows) {
  if (type < SIDBEAM_ATTRIBUTE_I64 || type > SIDBEAM_ATTRIBUTE_STRING_LIST)
    fail(SIDBEAM_INVALID_ARGUMENT, "type is %d, expected 1 to 5: i64, f32, bool, string or string lists", type);
  if (const char* refused = refused_attribute_name(name); refused != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "the name '%.150s' %s, expected 1 to %zu bytes of UTF-8", name, refused,
         kMaxAttributeName);
  if (const AttributeColumn* known = find(name); known != nullptr) {
    if (static_cast<int32_t>(known->type) == type) return;
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s' is of type %s, and declared as %s", name,
         attribute_type_name(known->type), attribute_type_name(static_cast<AttributeType>(type)));
  }
  if (rows > 0)
    fail(SIDBEAM_BAD_STATE, "attribute '%s': %lld rows were added, and attributes are declared before the first", name,
         static_cast<ll>(rows));
  if (columns_.size() >= kMaxAttributes)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s' is one too many, expected at most %zu", name, kMaxAttributes);
  columns_.emplace_back(name, static_cast<AttributeType>(type), allocator_);
  std::sort(columns_.begin(), columns_.end(),
            [](const AttributeColumn& a, const AttributeColumn& b) { return a.name < b.name; });
}

void AttributeColumns::remove(std::string_view name) {
  std::erase_if(columns_, [&](const AttributeColumn& column) { return column.name == name; });
}

AttributeColumn* AttributeColumns::find(std::string_view name) {
  for (AttributeColumn& column : columns_)
    if (column.name == name) return &column;
  return nullptr;
}

void AttributeColumns::set(const sidbeam_attribute_column& column, int64_t begin, int64_t count) {
  AttributeColumn* const to = find(column.name);
  if (to == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "no attribute '%.128s' was declared, expected one of %zu", column.name,
         columns_.size());
  if (column.valid != nullptr && column.valid_bits != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': valid and valid_bits are given, expected one of them",
         to->name.c_str());
  AttributeValues values;
  values.count = count;
  values.valid = column.valid;
  values.valid_bits = column.valid_bits;
  values.integers = column.integers;
  values.numbers = column.numbers;
  values.bools = column.bools;
  values.codes = column.codes;
  Buffer<std::string_view> strings;
  if (has_dictionary(to->type) && count > 0) {
    const bool are_lists = to->type == AttributeType::kStringList;
    if (!are_lists && column.lists != nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s' is of type string, and lists is given, expected NULL",
           to->name.c_str());
    const int64_t all = are_lists ? check_lists(column, count) : count;
    if (column.codes != nullptr && column.string_count < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%s': string_count is %lld, expected 0 or more", to->name.c_str(),
           static_cast<ll>(column.string_count));
    values.string_count = column.codes != nullptr ? column.string_count : all;
    strings = strings_of(column, values.string_count, allocator_);
    values.strings = strings.data();
    values.lists = are_lists ? column.lists : nullptr;
  }
  to->set(values, begin);
}

void AttributeColumns::rewind(int64_t rows) {
  for (AttributeColumn& column : columns_) column.rewind(rows);
}

void AttributeColumns::complete(int64_t rows) {
  for (AttributeColumn& column : columns_) column.complete(rows);
}

void AttributeColumns::move_row(int64_t from, int64_t to) {
  for (AttributeColumn& column : columns_)
    if (to < column.filled()) column.copy(to, from);
}

const AttributeColumn* AttributeColumns::merge(int64_t row, int64_t other) {
  for (AttributeColumn& column : columns_)
    if (!column.merge(row, other)) return &column;
  return nullptr;
}

int64_t AttributeColumns::bytes() const {
  int64_t sum = 0;
  for (const AttributeColumn& column : columns_) sum += column.bytes();
  return sum;
}

}  // namespace sidbeam
