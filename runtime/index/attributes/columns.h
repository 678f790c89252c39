// The attributes of an index: columns of values by item row. Views into the file, valid as long as the index. After
// verify=header their arrays have the right sizes but unchecked contents, so that readers clamp what they load.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "index/views.h"

namespace sidbeam {

// Numbers are those of the file and of the ABI (SIDBEAM_ATTRIBUTE_*).
enum class AttributeType : uint8_t { kI64 = 1, kF32 = 2, kBool = 3, kString = 4, kStringList = 5 };

// The distinct strings of a column, rising by bytes; a row names one by its number.
struct Dictionary {
  uint64_t count = 0, bytes = 0;
  const uint64_t* offsets = nullptr;  // [count + 1]
  const char* text = nullptr;         // [bytes]

  std::string_view operator[](uint64_t i) const {
    const uint64_t begin = std::min(offsets[i], bytes), end = std::clamp(offsets[i + 1], begin, bytes);
    return {text + begin, end - begin};
  }
};

// One column. A row whose bit of `valid` is not set is null, and its value means nothing.
struct Attribute {
  std::string_view name;
  AttributeType type = AttributeType::kI64;
  const uint64_t* valid = nullptr;    // [ceil(items / 64)] bits; nullptr: no row is null
  const int64_t* integers = nullptr;  // [items] of kI64
  const float* numbers = nullptr;     // [items] of kF32; none is NaN
  const uint64_t* bools = nullptr;    // [ceil(items / 64)] bits, of kBool
  UintArray codes;                    // of kString: [items]; of kStringList: those of all rows, one list after another
  UintArray offsets;                  // [items + 1] of kStringList: where the codes of each row begin
  uint64_t code_count = 0;            // of kStringList: codes of all rows
  Dictionary dictionary;              // of kString and kStringList
};

using Attributes = std::vector<Attribute>;  // by name, rising

inline const Attribute* find_attribute(const Attributes& all, std::string_view name) {
  for (const Attribute& attribute : all)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

}  // namespace sidbeam
