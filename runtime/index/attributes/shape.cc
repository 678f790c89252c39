// SPDX-License-Identifier: Apache-2.0
#include "index/attributes/shape.h"

#include "support/escape.h"
#include "support/utf8.h"

namespace sidbeam {

const char* refused_attribute_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxAttributeName) return "has more than 128 bytes";
  if (!is_utf8(name)) return "is not valid UTF-8";
  if (escaped(name) != name) return "has a control character";
  return nullptr;
}

const char* attribute_type_name(AttributeType type) {
  static constexpr const char* kNames[] = {"none", "i64", "f32", "bool", "string", "string_list"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace sidbeam
