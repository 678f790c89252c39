// Values of an opened index's attributes. None of these trusts the contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/attributes/columns.h"

namespace sidbeam {

inline bool is_null(const Attribute& attribute, uint64_t row) {
  return attribute.valid != nullptr && !has_bit(attribute.valid, row);
}

// The codes [begin, end) of a row, of kStringList; none where it is null.
struct CodeRange {
  uint64_t begin, end;
};
inline CodeRange codes_of(const Attribute& attribute, uint64_t row) {
  if (is_null(attribute, row)) return {0, 0};
  const uint64_t begin = std::min(attribute.offsets[row], attribute.code_count);
  return {begin, std::clamp(attribute.offsets[row + 1], begin, attribute.code_count)};
}

}  // namespace sidbeam
