// The values of a builder's attributes, by row of its catalogue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/attributes/shape.h"
#include "index/build/chunked_array.h"
#include "index/build/strings.h"
#include "sidbeam/builder.h"

namespace sidbeam {

// The values of one attribute for some rows, of which one array is read, that of its type.
struct AttributeValues {
  int64_t count = 0;                    // rows
  const uint8_t* valid = nullptr;       // [count] 0: null. nullptr, and no bits: none is
  const uint8_t* valid_bits = nullptr;  // instead: bits, lowest first, from bit_offset on
  int64_t bit_offset = 0;
  const int64_t* integers = nullptr;          // [count]
  const float* numbers = nullptr;             // [count]
  const uint8_t* bools = nullptr;             // [count] 0: false
  const std::string_view* strings = nullptr;  // [string_count] one after another, or, with codes, a dictionary
  int64_t string_count = 0;
  const int64_t* codes = nullptr;  // which of the strings; nullptr: the i-th value is the i-th string
  const int64_t* lists = nullptr;  // [count + 1] the first value of each row's list

  bool is_null(int64_t i) const {
    if (valid != nullptr) return valid[i] == 0;
    const int64_t bit = bit_offset + i;
    return valid_bits != nullptr && (valid_bits[bit >> 3] >> (bit & 7) & 1) == 0;
  }
};

class AttributeColumn {
 public:
  AttributeColumn(std::string_view name, AttributeType type, const Allocator& allocator);

  // Sets rows [begin, begin + values.count), which had none so far. Throws and sets nothing where a value is refused.
  void set(const AttributeValues& values, int64_t begin);
  // Makes all rows from `rows` on null again.
  void rewind(int64_t rows);
  // Room for merge() in every row.
  void complete(int64_t rows);
  // Gives `row` what the other has if it is null itself. Returns whether they agree: both have it now, or one is null.
  bool merge(int64_t row, int64_t other);
  // Gives `row`, which has been set, what the other has, or null.
  void copy(int64_t row, int64_t other);
  // Whether both have the same value, or are null.
  bool equal(int64_t row, int64_t other) const;

  bool is_null(int64_t row) const { return row >= filled_ || valid_[row] == 0; }
  int64_t integer(int64_t row) const { return wide_[row]; }
  float number(int64_t row) const { return std::bit_cast<float>(narrow_[row]); }
  bool truth(int64_t row) const { return narrow_[row] != 0; }
  // The number of a string in `strings`, and those of a list.
  uint32_t string(int64_t row) const { return narrow_[row]; }
  int64_t list_size(int64_t row) const { return list_begins_[wide_[row] + 1] - list_begins_[wide_[row]]; }
  uint32_t list_string(int64_t row, int64_t i) const { return list_codes_[list_begins_[wide_[row]] + i]; }
  // For messages.
  std::string text(int64_t row) const;
  int64_t filled() const { return filled_; }
  int64_t bytes() const;

  std::string name;
  AttributeType type;
  Strings strings;

 private:
  bool is_wide() const { return type == AttributeType::kI64 || type == AttributeType::kStringList; }
  void check(const AttributeValues& values, int64_t begin) const;
  void check_strings(const AttributeValues& values, int64_t begin) const;
  void reserve(int64_t rows);
  void set_strings(const AttributeValues& values, int64_t begin);
  void add_list(const AttributeValues& values, int64_t i, Buffer<uint32_t>& numbers);
  uint32_t number_of(const AttributeValues& values, int64_t value, Buffer<uint32_t>& numbers);

  Allocator allocator_;
  int64_t filled_ = 0;  // rows from here on are null
  ChunkedArray<uint8_t> valid_;
  ChunkedArray<uint32_t> narrow_;      // f32, bool, and numbers of strings
  ChunkedArray<int64_t> wide_;         // i64, and numbers of lists
  ChunkedArray<int64_t> list_begins_;  // [lists + 1] in list_codes
  ChunkedArray<uint32_t> list_codes_;
  int64_t lists_ = 0, list_code_count_ = 0;
  int64_t list_marks_ = 0;  // lists that were begun, of which one may have failed half-way
};

class AttributeColumns {
 public:
  explicit AttributeColumns(const Allocator& allocator) : allocator_(allocator) {}

  // `rows`: of the catalogue so far.
  void declare(const char* name, int32_t type, int64_t rows);
  void remove(std::string_view name);
  // nullptr: there is none.
  AttributeColumn* find(std::string_view name);
  // The values of a caller's struct, for rows [begin, begin + count).
  void set(const sidbeam_attribute_column& column, int64_t begin, int64_t count);
  void rewind(int64_t rows);
  void complete(int64_t rows);
  // Merges row `other` into `row`. Returns the attribute in which they differ, or nullptr.
  const AttributeColumn* merge(int64_t row, int64_t other);
  int64_t bytes() const;

  // Gives row `to` what `from` has, or null.
  void move_row(int64_t from, int64_t to);
  AttributeColumn& at(size_t i) { return columns_[i]; }
  const std::vector<AttributeColumn>& all() const { return columns_; }  // by name, rising

 private:
  Allocator allocator_;
  std::vector<AttributeColumn> columns_;
};

}  // namespace sidbeam
