// Values of item rows of a base and of the pairs that were added to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/attributes/columns.h"
#include "index/build/attributes.h"

namespace sidbeam {

// Whether a pair has the same value as a row of the base, or both are null.
bool equals(const AttributeColumn& column, int64_t pair, const Attribute& base, uint64_t row);

// Values that pairs are to have, copied one by one from rows of the base and, from row `items` on, from pairs before.
class CopiedValues {
 public:
  // Without a base (null), of pairs alone.
  CopiedValues(const AttributeColumn& column, const Attribute* base, uint64_t items)
      : column_(column), base_(base), items_(items) {}
  void add_null();
  void add(uint64_t row);
  // Gives them to the pairs from `first` on.
  void set(AttributeColumn& column, int64_t first) const;
  // Of strings and lists, as a log has them at most.
  int64_t text_bytes() const;
  // Of all values, at most.
  int64_t bytes() const { return text_bytes() + static_cast<int64_t>(valid_.size() * sizeof(int64_t)); }
  // As a caller gives them, in arrays of this object, which must stay.
  sidbeam_attribute_column arrays();

 private:
  void add_base(uint64_t row);
  void add_pair(int64_t pair);

  const AttributeColumn& column_;
  const Attribute* base_;
  uint64_t items_;
  std::vector<uint8_t> valid_, bools_;
  std::vector<int64_t> integers_, lists_ = {0};
  std::vector<float> numbers_;
  std::vector<std::string_view> strings_;
  std::string text_;  // of arrays()
  std::vector<int64_t> offsets_;
};

}  // namespace sidbeam
