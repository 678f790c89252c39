// What the header of an index says of an attribute.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "index/attributes/columns.h"

namespace sidbeam {

inline constexpr size_t kMaxAttributes = 256;
inline constexpr size_t kMaxAttributeName = 128;                  // bytes
inline constexpr uint64_t kMaxStrings = (uint64_t{1} << 31) - 1;  // of a dictionary

struct AttributeShape {
  std::string name;
  AttributeType type = AttributeType::kI64;
  uint32_t first_section = 0;                   // of the header's, where its sections begin
  uint64_t nulls = 0;                           // rows without a value
  uint64_t codes = 0;                           // of kStringList: of all lists
  uint64_t strings = 0;                         // of kString and kStringList: of the dictionary
  uint64_t text_bytes = 0;                      // of the dictionary; the length of its section
  int64_t least = 0, greatest = 0;              // of kI64 and kBool; 0 where there are no values
  float least_number = 0, greatest_number = 0;  // of kF32
};

// What is wrong with a name, or nullptr.
const char* refused_attribute_name(std::string_view name);
// "i64", "string_list" and so on.
const char* attribute_type_name(AttributeType type);
inline bool has_dictionary(AttributeType type) { return type >= AttributeType::kString; }

}  // namespace sidbeam
