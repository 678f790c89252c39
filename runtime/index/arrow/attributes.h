// The attributes of a batch: columns of numbers, truth values, text and lists of text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "index/arrow/sids.h"
#include "index/attributes/columns.h"
#include "index/build/attributes.h"
#include "support/memory.h"

namespace sidbeam::arrow {

// Throws INVALID_ARGUMENT where a column is none of these.
AttributeType attribute_type_of(const Field& column);

// A column of a batch.
class AttributeCells {
 public:
  AttributeCells(const Field& field, const Sids& sids, const ArrowArray& column);

  // Hands out the values of some pairs as `type`, which is the column's own, or F32 for integers. Throws
  // INVALID_ARGUMENT with the row where a value does not fit.
  template <class Take>
  void read(const Pairs& pairs, AttributeType type, const Allocator& allocator, const Take& take) const {
    const Arrays arrays(*this, pairs, type, allocator);
    take(arrays.values);
  }

 private:
  // Text, or indices of text.
  struct Strings {
    const Field* field = nullptr;
    bool indexed = false;
    Numbers indices;
    Texts texts;
    std::optional<std::string_view> at(int64_t i, long long row) const;
  };
  struct Arrays {
    Arrays(const AttributeCells& cells, const Pairs& pairs, AttributeType type, const Allocator& allocator);
    AttributeValues values;
    Buffer<uint8_t> valid, bools;
    Buffer<int64_t> integers, lists;
    Buffer<float> numbers;
    Buffer<std::string_view> strings;
  };
  static Strings strings_of(const Field& field, const ArrowArray& array);
  bool is_missing(int64_t row) const;
  [[noreturn]] void refuse_number(const Pairs& pairs, int64_t i, const char* expected) const;
  void read_integers(const Pairs& pairs, Arrays& out) const;
  void read_floats(const Pairs& pairs, Arrays& out) const;
  void read_bools(const Pairs& pairs, Arrays& out) const;
  void read_strings(const Pairs& pairs, Arrays& out) const;
  void read_lists(const Pairs& pairs, const Allocator& allocator, Arrays& out) const;

  const Field& field_;
  Numbers numbers_;
  const uint8_t* bits_ = nullptr;  // of truth values,
  int64_t offset_ = 0;             // from this one on
  Lists lists_;
  Strings strings_;  // of the column, or of its lists' elements
  Nulls nulls_;
};

}  // namespace sidbeam::arrow
