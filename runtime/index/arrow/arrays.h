// Arrays of a batch, checked against the schema, and how their elements are read. Nothing is copied. Buffers may lie at
// any address, and what they hold is not trusted: lists and texts are checked as they are read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstring>
#include <string_view>

#include "index/arrow/schema.h"

namespace sidbeam::arrow {

// Throws INVALID_ARGUMENT unless the array has the children, buffers and lengths of its field, and at least `length`
// elements.
void check_array(const Field& field, const ArrowArray& array, int64_t length);
// The same for the struct that is a record batch, without its columns.
void check_batch(const Field& field, const ArrowArray& array);

template <class T>
T load(const void* from, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Which elements are null, by their number in the array; `bits` is nullptr where none is.
struct Nulls {
  const uint8_t* bits = nullptr;
  int64_t offset = 0;

  Nulls() = default;
  explicit Nulls(const ArrowArray& array);
  bool any() const { return bits != nullptr; }
  bool at(int64_t i) const { return bits != nullptr && (bits[(offset + i) >> 3] >> ((offset + i) & 7) & 1) == 0; }
};

// Calls with a value of the C++ type of a number.
template <class Call>
decltype(auto) with_type(Type type, const Call& call) {
  switch (type) {
    case Type::kI8:
      return call(int8_t{});
    case Type::kI16:
      return call(int16_t{});
    case Type::kI32:
      return call(int32_t{});
    case Type::kU8:
      return call(uint8_t{});
    case Type::kU16:
      return call(uint16_t{});
    case Type::kU32:
      return call(uint32_t{});
    case Type::kU64:
      return call(uint64_t{});
    case Type::kF32:
      return call(float{});
    case Type::kF64:
      return call(double{});
    default:
      return call(int64_t{});
  }
}

struct Numbers {
  Type type = Type::kI64;
  const void* data = nullptr;  // of element 0
  Nulls nulls;
  int64_t length = 0;

  Numbers() = default;
  Numbers(const Field& field, const ArrowArray& array);
  // Null, or NaN, which marks a missing value where there were no nulls.
  bool missing(int64_t i) const;
  // For messages.
  std::string text(int64_t i) const;
};

struct Span {
  int64_t begin, count;
};

// The elements of each list, in an array of `length` elements.
struct Lists {
  const Field* field = nullptr;
  const void *offsets = nullptr, *sizes = nullptr;  // of list 0
  int64_t first = 0, fixed = 0;                     // of a fixed-size list: number of list 0, elements
  Nulls nulls;
  int64_t length = 0;

  Lists() = default;
  Lists(const Field& field, const ArrowArray& array);
  // Throws INVALID_ARGUMENT where it is not within the array. A null list may be anything.
  Span span(int64_t i) const;
  // Whether lists [i, i + n) have `elements` each; then they are within the array, if offsets and no sizes say so.
  bool all_have(int64_t i, int64_t n, int64_t elements) const;
};

struct Texts {
  const Field* field = nullptr;
  const void* starts = nullptr;  // offsets, or views, of text 0
  const char* bytes = nullptr;
  const void* const* buffers = nullptr;  // of views: what they refer to, and
  const void* sizes = nullptr;           // how long that is
  int64_t buffer_count = 0;
  Nulls nulls;
  int64_t length = 0;

  Texts() = default;
  Texts(const Field& field, const ArrowArray& array);
  // Throws INVALID_ARGUMENT where it is not within its buffer, as far as that can be known.
  std::string_view at(int64_t i) const;
};

}  // namespace sidbeam::arrow
