// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/arrays.h"

#include <cmath>
#include <cstdio>

#include "support/error.h"

namespace sidbeam::arrow {
namespace {

using ll = long long;

constexpr int64_t kMostLength = int64_t{1} << 56;  // so that no sum and no address overflows

[[noreturn]] void bad(const Field& field, const char* what, int64_t came, const char* expected) {
  fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': %s %lld, expected %s", field.shown.c_str(), what, static_cast<ll>(came),
       expected);
}

int64_t least_buffers(Type type) {
  if (type == Type::kFixedList || type == Type::kStruct) return 1;
  if (is_list_view(type) || is_text(type)) return 3;
  return 2;
}

void check_lengths(const Field& field, const ArrowArray& array) {
  if (array.release == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' has been released, expected an array", field.shown.c_str());
  if (array.length < 0 || array.length > kMostLength) bad(field, "length", array.length, "0 to 2^56");
  if (array.offset < 0 || array.offset > kMostLength) bad(field, "offset", array.offset, "0 to 2^56");
  if (array.null_count < -1 || array.null_count > array.length)
    bad(field, "null_count", array.null_count, "-1 to the length");
}

void check_buffers(const Field& field, const ArrowArray& array) {
  const int64_t least = least_buffers(field.type);
  const bool exact = field.type != Type::kTextView;
  if (exact ? array.n_buffers != least : array.n_buffers < least)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': n_buffers %lld, expected %s%lld", field.shown.c_str(),
         static_cast<ll>(array.n_buffers), exact ? "" : "at least ", static_cast<ll>(least));
  if (array.buffers == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': buffers is NULL", field.shown.c_str());
  if (array.null_count > 0 && array.buffers[0] == nullptr)
    bad(field, "no validity bitmap and null_count", array.null_count, "0");
  if (array.length == 0) return;
  const int64_t needed = is_list_view(field.type) ? 3 : least == 1 ? 1 : 2;  // of text, not the bytes: all may be empty
  for (int64_t i = 1; i < needed; ++i)
    if (array.buffers[i] == nullptr) bad(field, "NULL as buffer", i, "memory");
}

void check_children(const Field& field, const ArrowArray& array) {
  const auto expected = static_cast<int64_t>(field.children.size());
  if (array.n_children != expected)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': n_children %lld, expected %lld", field.shown.c_str(),
         static_cast<ll>(array.n_children), static_cast<ll>(expected));
  for (int64_t i = 0; i < expected; ++i)
    if (array.children == nullptr || array.children[i] == nullptr) bad(field, "NULL as child", i, "an array");
  if ((array.dictionary != nullptr) != !field.dictionary.empty())
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' comes %s a dictionary, expected the contrary by its schema",
         field.shown.c_str(), array.dictionary != nullptr ? "with" : "without");
}

}  // namespace

void check_batch(const Field& field, const ArrowArray& array) {
  check_lengths(field, array);
  check_buffers(field, array);
  check_children(field, array);
}

void check_array(const Field& field, const ArrowArray& array, int64_t length) {
  check_batch(field, array);
  if (array.length < length)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' has the length %lld, expected at least %lld, for what holds it",
         field.shown.c_str(), static_cast<ll>(array.length), static_cast<ll>(length));
  if (is_list(field.type)) {
    const int64_t lists = array.offset + array.length;
    if (field.fixed > 0 && lists > kMostLength / field.fixed) bad(field, "length", array.length, "fewer lists");
    check_array(field.children[0], *array.children[0], lists * field.fixed);
  }
  if (!field.dictionary.empty()) check_array(field.dictionary[0], *array.dictionary, 0);
}

Nulls::Nulls(const ArrowArray& array) : offset(array.offset) {
  if (array.null_count == 0 || array.buffers[0] == nullptr) return;
  const auto* given = static_cast<const uint8_t*>(array.buffers[0]);
  bits = given;
  if (array.null_count > 0) return;
  // An unknown number: of a slice it is mostly none, and then the fast ways are open.
  for (int64_t i = 0; i < array.length;) {
    const int64_t at = offset + i;
    if ((at & 7) == 0 && array.length - i >= 8) {
      if (given[at >> 3] != 0xFF) return;
      i += 8;
    } else {
      if (this->at(i)) return;
      ++i;
    }
  }
  bits = nullptr;
}

Numbers::Numbers(const Field& field, const ArrowArray& array) : type(field.type), nulls(array), length(array.length) {
  if (array.length == 0) return;
  data = with_type(type, [&](auto zero) -> const void* {
    return static_cast<const char*>(array.buffers[1]) + array.offset * static_cast<int64_t>(sizeof(zero));
  });
}

bool Numbers::missing(int64_t i) const {
  if (nulls.at(i)) return true;
  if (is_integer(type)) return false;
  return type == Type::kF32 ? std::isnan(load<float>(data, i)) : std::isnan(load<double>(data, i));
}

std::string Numbers::text(int64_t i) const {
  return with_type(type, [&](auto zero) -> std::string {
    const auto value = load<decltype(zero)>(data, i);
    if constexpr (std::is_integral_v<decltype(zero)>) return std::to_string(value);
    char line[32];
    std::snprintf(line, sizeof line, "%g", static_cast<double>(value));
    return line;
  });
}

Lists::Lists(const Field& of, const ArrowArray& array)
    : field(&of), first(array.offset), fixed(of.fixed), nulls(array), length(array.children[0]->length) {
  if (of.type == Type::kFixedList || array.length == 0) return;
  const bool wide = of.type == Type::kLargeList || of.type == Type::kLargeListView;
  const int64_t skipped = array.offset * (wide ? 8 : 4);
  offsets = static_cast<const char*>(array.buffers[1]) + skipped;
  if (is_list_view(of.type)) sizes = static_cast<const char*>(array.buffers[2]) + skipped;
}

Span Lists::span(int64_t i) const {
  if (field->type == Type::kFixedList) return {(first + i) * fixed, fixed};
  const bool wide = field->type == Type::kLargeList || field->type == Type::kLargeListView;
  const auto number = [&](const void* from, int64_t at) {
    return wide ? load<int64_t>(from, at) : static_cast<int64_t>(load<int32_t>(from, at));
  };
  const int64_t begin = number(offsets, i);
  const int64_t end = sizes == nullptr ? number(offsets, i + 1) : 0;
  const int64_t count = sizes == nullptr ? 0 : number(sizes, i);
  const bool outside = begin < 0 || begin > length ||
                       (sizes == nullptr ? end < begin || end > length : count < 0 || count > length - begin);
  if (outside)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': list %lld is %s %lld at %lld, expected a part of %lld elements",
         field->shown.c_str(), static_cast<ll>(i), sizes == nullptr ? "up to" : "of",
         static_cast<ll>(sizes == nullptr ? end : count), static_cast<ll>(begin), static_cast<ll>(length));
  return {begin, sizes == nullptr ? end - begin : count};
}

template <class T>
static bool all_differ_by(const void* offsets, int64_t i, int64_t n, T elements) {
  T wrong = 0;  // no branch per list: this is all that a list of codes costs beside an array
  for (int64_t k = i; k < i + n; ++k)
    wrong |= static_cast<T>((load<T>(offsets, k + 1) - load<T>(offsets, k)) ^ elements);
  return wrong == 0;
}

bool Lists::all_have(int64_t i, int64_t n, int64_t elements) const {
  if (field->type == Type::kFixedList) return fixed == elements;
  if (sizes == nullptr) {
    const bool same = field->type == Type::kLargeList
                          ? all_differ_by<uint64_t>(offsets, i, n, static_cast<uint64_t>(elements))
                          : all_differ_by<uint32_t>(offsets, i, n, static_cast<uint32_t>(elements));
    // Unsigned differences may wrap around; then the last list does not end where the first one says.
    return same && span(i).begin + n * elements == span(i + n - 1).begin + elements;
  }
  for (int64_t k = i; k < i + n; ++k)
    if (span(k).count != elements) return false;
  return true;
}

Texts::Texts(const Field& of, const ArrowArray& array) : field(&of), nulls(array), length(array.length) {
  if (array.length == 0) return;
  const int64_t width = of.type == Type::kTextView ? 16 : of.type == Type::kLargeText ? 8 : 4;
  starts = static_cast<const char*>(array.buffers[1]) + array.offset * width;
  bytes = static_cast<const char*>(array.buffers[2]);
  if (of.type != Type::kTextView) return;
  buffers = array.buffers + 2;
  buffer_count = array.n_buffers - 3;
  sizes = array.buffers[array.n_buffers - 1];
}

std::string_view Texts::at(int64_t i) const {
  if (field->type == Type::kTextView) {
    // {int32 length, 12 bytes}, or {int32 length, 4 bytes, int32 buffer, int32 offset}
    constexpr int32_t kInline = 12;
    const char* const view = static_cast<const char*>(starts) + i * 16;
    const auto size = load<int32_t>(view, 0), buffer = load<int32_t>(view, 2), offset = load<int32_t>(view, 3);
    if (size >= 0 && size <= kInline) return {view + 4, static_cast<size_t>(size)};
    const bool there = buffer >= 0 && buffer < buffer_count && sizes != nullptr && buffers[buffer] != nullptr;
    const int64_t room = there ? load<int64_t>(sizes, buffer) : 0;
    if (size < 0 || !there || offset < 0 || room < offset || room - offset < size)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': text %lld is %d bytes at %d of buffer %d, which has %s",
           field->shown.c_str(), static_cast<ll>(i), size, offset, buffer, there ? "fewer" : "no such number");
    return {static_cast<const char*>(buffers[buffer]) + offset, static_cast<size_t>(size)};
  }
  const bool wide = field->type == Type::kLargeText;
  const int64_t begin = wide ? load<int64_t>(starts, i) : load<int32_t>(starts, i);
  const int64_t end = wide ? load<int64_t>(starts, i + 1) : load<int32_t>(starts, i + 1);
  if (begin < 0 || end < begin || (end > begin && bytes == nullptr))
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': text %lld is the bytes %lld to %lld%s, expected offsets that rise",
         field->shown.c_str(), static_cast<ll>(i), static_cast<ll>(begin), static_cast<ll>(end),
         bytes == nullptr ? " of no buffer" : "");
  return {bytes == nullptr ? "" : bytes + begin, static_cast<size_t>(end - begin)};
}

}  // namespace sidbeam::arrow
