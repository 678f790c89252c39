// JSON that others wrote, as events: nothing is built except what the receiver keeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sidbeam::runner {

enum class JsonKind : uint8_t { kNull, kBoolean, kInteger, kReal, kText, kArray, kObject };
const char* name_of(JsonKind kind);

struct JsonScalar {
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  int64_t integer = 0;    // kInteger: a number without fraction and exponent that fits
  double real = 0.0;      // kInteger and kReal; finite
  std::string_view text;  // valid UTF-8, valid during the call
};

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void scalar(const JsonScalar& value) = 0;
  virtual void key(std::string_view name) = 0;
  virtual void begin(JsonKind kind) = 0;  // kArray or kObject
  virtual void end() = 0;
};

// Reads one document. Throws Failure(CORRUPT) naming `path` where it is not JSON, or where arrays and objects are
// nested deeper than 64; what the events throw passes through. Memory: the longest string.
void read_json(const char* path, std::string_view text, JsonEvents& events);

}  // namespace sidbeam::runner
