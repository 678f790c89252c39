// Keys of JSON objects: nobody can say which of two values of one key is meant.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_KEYS_H
#define SIDBEAM_CLI_KEYS_H

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// Keeps its memory from object to object.
class KeyCheck {
 public:
  // What is wrong with the object's keys; "": nothing.
  std::string complaint(const simdjson::dom::object& object) {
    keys_.clear();
    for (const simdjson::dom::key_value_pair& field : object) keys_.push_back(field.key);
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    return twice == keys_.end() ? "" : "\"" + std::string(*twice) + "\" comes twice in one object";
  }

 private:
  std::vector<std::string_view> keys_;
};

}  // namespace cli

#endif
