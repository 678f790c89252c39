// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/sids.h"

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace sidbeam::arrow {
namespace {

using ll = long long;

constexpr int64_t kPieceRows = 512;  // of columns, whose codes are written with strides: they stay in the nearest cache

const ArrowArray& column_of(const Columns& columns, const ArrowArray& array, int column) {
  return columns.bare ? array : *array.children[column];
}

// -1 for what is no code.
template <class T>
int32_t code_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::numeric_limits<T>::max() <= INT32_MAX) {
      return value < 0 ? -1 : static_cast<int32_t>(value);
    } else {
      return static_cast<std::make_unsigned_t<T>>(value) > INT32_MAX ? -1 : static_cast<int32_t>(value);
    }
  } else {
    // 2^31 itself is a float, INT32_MAX is not.
    if (!(value >= 0 && value < T{2147483648.0})) return -1;
    const auto whole = static_cast<int32_t>(value);
    return static_cast<T>(whole) == value ? whole : -1;
  }
}

int32_t code_at(const Numbers& numbers, int64_t i) {
  return with_type(numbers.type, [&](auto zero) { return code_of(load<decltype(zero)>(numbers.data, i)); });
}

// Codes i .. i + count, to out[0], out[stride] ...; whether all are codes.
bool copy_codes(const Numbers& numbers, int64_t i, int64_t count, int64_t stride, int32_t* out) {
  return with_type(numbers.type, [&](auto zero) {
    int32_t all = 0;  // its sign is that of any
    const auto copy = [&](auto step) {
      for (int64_t k = 0; k < count; ++k) {
        const int32_t code = code_of(load<decltype(zero)>(numbers.data, i + k));
        out[k * step] = code;
        all |= code;
      }
    };
    if (stride == 1)
      copy(std::integral_constant<int64_t, 1>());  // a loop of vectors
    else
      copy(stride);
    return all >= 0;
  });
}

// One SID: `count` codes, of a list or of columns.
struct Sid {
  const Sids* sids;
  int64_t begin, count;

  const Numbers& numbers(int64_t level) const {
    return sids->is_listed() ? sids->values : sids->levels[static_cast<size_t>(level)];
  }
  int64_t at(int64_t level) const { return sids->is_listed() ? begin + level : begin; }
  bool missing(int64_t level) const { return numbers(level).missing(at(level)); }
  int32_t code(int64_t level) const { return code_at(numbers(level), at(level)); }
  // Without what is missing behind the last code.
  int64_t length() const {
    int64_t length = count;
    while (length > 0 && missing(length - 1)) --length;
    return length;
  }
};

Sid sid_at(const Sids& sids, int64_t place) {
  if (!sids.is_listed()) return {&sids, place, static_cast<int64_t>(sids.levels.size())};
  if (sids.lists.nulls.at(place)) return {&sids, 0, 0};
  const Span span = sids.lists.span(place);
  return {&sids, span.begin, span.count};
}

// Its length, or one that nothing allows.
int32_t read_sid(const Sid& sid, int levels, int32_t* codes) {
  const Numbers& values = sid.sids->values;
  const bool plain = sid.sids->is_listed() && !values.nulls.any() && is_integer(values.type);
  const int64_t length = plain ? sid.count : sid.length(), read = std::min<int64_t>(length, levels);
  std::fill_n(codes, levels, 0);
  if (plain)
    copy_codes(values, sid.begin, read, 1, codes);
  else
    for (int64_t l = 0; l < read; ++l) codes[l] = sid.missing(l) ? -1 : sid.code(l);
  return static_cast<int32_t>(std::min<int64_t>(length, INT32_MAX));
}

bool has_nulls(const Sids& sids) {
  if (sids.is_listed()) return sids.lists.nulls.any() || sids.values.nulls.any();
  return std::any_of(sids.levels.begin(), sids.levels.end(), [](const Numbers& level) { return level.nulls.any(); });
}

// Whether list views lie one after the other.
bool follow(const Lists& lists, int64_t place, int64_t count, int levels) {
  const int64_t start = lists.span(place).begin;
  for (int64_t i = 1; i < count; ++i)
    if (lists.span(place + i).begin != start + i * levels) return false;
  return true;
}

// Where the codes of pairs of `levels` codes each lie one after the other; -1: they do not.
int64_t dense_at(const Pairs& pairs, int64_t begin, int64_t count, int levels) {
  const Sids& sids = *pairs.sids;
  if (!sids.is_listed() || !pairs.places.empty() || has_nulls(sids) || count == 0) return -1;
  const int64_t place = pairs.place(begin), start = sids.lists.span(place).begin;
  if (sids.lists.field->type == Type::kFixedList) return sids.lists.fixed == levels ? start : -1;
  if (!sids.lists.all_have(place, count, levels)) return -1;
  return is_list_view(sids.lists.field->type) && !follow(sids.lists, place, count, levels) ? -1 : start;
}

bool read_columns(const Pairs& pairs, int64_t begin, int64_t count, int levels, int32_t* codes) {
  const Sids& sids = *pairs.sids;
  if (sids.levels.size() != static_cast<size_t>(levels) || has_nulls(sids)) return false;
  for (int64_t i = 0; i < count; i += kPieceRows) {
    const int64_t piece = std::min(kPieceRows, count - i);
    for (int l = 0; l < levels; ++l)
      if (!copy_codes(sids.levels[static_cast<size_t>(l)], pairs.place(begin + i), piece, levels,
                      codes + i * levels + l))
        return false;
  }
  return true;
}

const char* name_of(const Sids& sids, int64_t level) {
  return sids.fields[sids.is_listed() ? 0 : static_cast<size_t>(level)]->shown.c_str();
}

[[noreturn]] void bad_length(const Sids& sids, ll row, int64_t count, int64_t length, const SidLimits& limits) {
  const char* const name = name_of(sids, 0);
  if (length == 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld %s, a SID has at least 1 code", name, row,
         count == 0 ? "is empty" : "has nulls alone");
  if (limits.variable_length || length > limits.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld has %lld codes, expected %s%d", name, row,
         static_cast<ll>(length), limits.variable_length ? "1 to " : "", limits.levels);
  if (length < count)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld, level %lld is null, expected a code (variable_length is 0)",
         name_of(sids, length), row, static_cast<ll>(length));
  fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld has %lld codes, expected %d (variable_length is 0)", name, row,
       static_cast<ll>(length), limits.levels);
}

void check_sid(const Pairs& pairs, int64_t i, const SidLimits& limits) {
  const Sids& sids = *pairs.sids;
  const auto row = static_cast<ll>(pairs.number(i));
  if (sids.is_listed() && sids.lists.nulls.at(pairs.place(i)))
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld %s null, expected a list of codes", name_of(sids, 0), row,
         sids.nested ? "has a SID that is" : "is");
  const Sid sid = sid_at(sids, pairs.place(i));
  const int64_t length = sid.length();
  for (int64_t l = 0; l < std::min<int64_t>(length, limits.levels); ++l) {
    const uint32_t codes = limits.codes != nullptr ? limits.codes[l] : uint32_t{SIDBEAM_MAX_CODES};
    if (sid.missing(l))
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld, level %lld is null, and a code follows", name_of(sids, l),
           row, static_cast<ll>(l));
    const int32_t code = sid.code(l);
    if (code < 0 || static_cast<uint32_t>(code) >= codes)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld, level %lld: code %s, expected 0 to %u", name_of(sids, l),
           row, static_cast<ll>(l), sid.numbers(l).text(sid.at(l)).c_str(), codes - 1);
  }
  if (length == 0 || length > limits.levels || (length < limits.levels && !limits.variable_length))
    bad_length(sids, row, sid.count, length, limits);
}

}  // namespace

Sids read_sids(const Field& batch, const Columns& columns, const ArrowArray& array, int64_t rows_before) {
  Sids sids;
  sids.fields = sid_fields(batch, columns);
  sids.first = columns.bare ? 0 : array.offset;
  sids.rows = array.length;
  sids.rows_before = rows_before;
  const int64_t needed = sids.first + sids.rows;
  const Field& field = *sids.fields[0];
  if (!is_list(field.type)) {
    for (size_t l = 0; l < sids.fields.size(); ++l) {
      const ArrowArray& column = column_of(columns, array, columns.bare ? 0 : columns.levels[l]);
      check_array(*sids.fields[l], column, needed);
      sids.levels.emplace_back(*sids.fields[l], column);
    }
    return sids;
  }
  const ArrowArray& column = column_of(columns, array, columns.sid);
  check_array(field, column, needed);
  sids.nested = is_list(field.children[0].type);
  if (sids.nested) sids.outer = Lists(field, column);
  const Field& inner = sids.nested ? field.children[0] : field;
  const ArrowArray& lists = sids.nested ? *column.children[0] : column;
  sids.lists = Lists(inner, lists);
  sids.values = Numbers(inner.children[0], *lists.children[0]);
  return sids;
}

Pairs next_pairs(const Sids& sids, int64_t most, Cursor& cursor) {
  Pairs pairs;
  pairs.sids = &sids;
  pairs.begin = cursor.row;
  if (!sids.nested) {
    pairs.count = std::min(most, sids.rows - cursor.row);
    cursor.row += pairs.count;
    return pairs;
  }
  for (; cursor.row < sids.rows && pairs.count < most;) {
    const int64_t row = sids.first + cursor.row;
    const bool null = sids.outer.nulls.at(row);
    const Span span = null ? Span{0, 0} : sids.outer.span(row);
    if (span.count == 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s', row %lld is %s, expected SIDs", name_of(sids, 0),
           static_cast<ll>(sids.rows_before + cursor.row), null ? "null" : "empty");
    for (; cursor.sid < span.count && pairs.count < most; ++cursor.sid, ++pairs.count) {
      pairs.places.push_back(span.begin + cursor.sid);
      pairs.rows.push_back(row);
    }
    if (cursor.sid == span.count) cursor = {cursor.row + 1, 0};
  }
  return pairs;
}

const int32_t* codes_in_place(const Pairs& pairs, int levels) {
  const Sids& sids = *pairs.sids;
  if (!sids.is_listed() || sids.values.type != Type::kI32) return nullptr;
  const int64_t at = dense_at(pairs, 0, pairs.count, levels);
  if (at < 0 || reinterpret_cast<uintptr_t>(sids.values.data) % alignof(int32_t) != 0) return nullptr;
  return static_cast<const int32_t*>(sids.values.data) + at;
}

bool read_codes(const Pairs& pairs, int64_t begin, int64_t count, int levels, int32_t* codes, int32_t* lengths) {
  const Sids& sids = *pairs.sids;
  const int64_t at = dense_at(pairs, begin, count, levels);
  if (at >= 0 ? copy_codes(sids.values, at, count * levels, 1, codes)
              : !sids.is_listed() && read_columns(pairs, begin, count, levels, codes))
    return true;
  bool full = true;
  for (int64_t i = 0; i < count; ++i) {
    lengths[i] = read_sid(sid_at(sids, pairs.place(begin + i)), levels, codes + i * levels);
    full &= lengths[i] == levels;
  }
  return full;
}

void find_bad_sid(const Pairs& pairs, const SidLimits& limits) {
  for (int64_t i = 0; i < pairs.count; ++i) check_sid(pairs, i, limits);
}

int64_t longest(const Pairs& pairs) {
  if (!pairs.sids->is_listed()) return static_cast<int64_t>(pairs.sids->levels.size());
  int64_t most = 0;
  for (int64_t i = 0; i < pairs.count; ++i) most = std::max(most, sid_at(*pairs.sids, pairs.place(i)).count);
  return most;
}

}  // namespace sidbeam::arrow
