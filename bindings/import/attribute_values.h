// Values of the attributes of items, flat, as the core takes them.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_ATTRIBUTE_VALUES_H
#define SIDBEAM_IMPORT_ATTRIBUTE_VALUES_H

#include <cstdint>
#include <string>
#include <vector>

namespace importer {

struct AttributeSpec {
  std::string name;
  int32_t type = 0;  // SIDBEAM_ATTRIBUTE_*; 0: not known
};

// One value, in the field of its type.
struct AttributeValue {
  bool valid = false;   // false: null
  int64_t integer = 0;  // of i64 and bool
  float number = 0;
  std::string text;
  std::vector<std::string> list;
};

// Those of the rows of a batch.
struct AttributeValues {
  std::vector<uint8_t> valid, bools;  // [rows]
  std::vector<int64_t> integers;      // [rows]
  std::vector<float> numbers;         // [rows]
  std::string text;                   // of all strings, end to end
  std::vector<int64_t> text_ends, list_ends;

  void add(int32_t type, const AttributeValue& value);
  void clear();
};

}  // namespace importer

#endif
