// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/json.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "support/error.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

constexpr int kMostDepth = 64;

// What nlohmann's parser calls. Its tree of values is not used: it keeps the last of equal keys, and its destructor
// allocates.
class Handler {
 public:
  Handler(const char* path, JsonEvents& events) : path_(path), events_(events) {}

  bool null() { return send({}); }
  bool boolean(bool value) { return send({JsonKind::kBoolean, value, 0, 0.0, {}}); }
  bool number_integer(int64_t value) {
    return send({JsonKind::kInteger, false, value, static_cast<double>(value), {}});
  }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return number_integer(static_cast<int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) { return send({JsonKind::kReal, false, 0, value, {}}); }
  bool string(const std::string& value) { return send({JsonKind::kText, false, 0, 0.0, value}); }
  bool binary(const std::vector<uint8_t>&) { return false; }
  bool key(const std::string& name) {
    events_.key(name);
    return true;
  }
  bool start_object(size_t) { return enter(JsonKind::kObject); }
  bool start_array(size_t) { return enter(JsonKind::kArray); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line ..."
    const char* what = error.what();
    const char* reason = std::strstr(what, "] ");
    fail(SIDBEAM_CORRUPT, "'%.300s' is not JSON: %.300s", path_, reason == nullptr ? what : reason + 2);
  }

 private:
  bool send(const JsonScalar& value) {
    events_.scalar(value);
    return true;
  }
  bool enter(JsonKind kind) {
    if (++depth_ > kMostDepth) fail(SIDBEAM_CORRUPT, "'%.300s' nests its values more than %d deep", path_, kMostDepth);
    events_.begin(kind);
    return true;
  }
  bool leave() {
    --depth_;
    events_.end();
    return true;
  }

  const char* path_;
  JsonEvents& events_;
  int depth_ = 0;
};

}  // namespace

const char* name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBoolean:
      return "a boolean";
    case JsonKind::kInteger:
      return "an integer";
    case JsonKind::kReal:
      return "a number";
    case JsonKind::kText:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "?";
}

void read_json(const char* path, std::string_view text, JsonEvents& events) {
  // The parser takes a NUL for the end of its input, and would never see what follows.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos) fail(SIDBEAM_CORRUPT, "'%.300s' is not JSON: it has a NUL at byte %zu", path, nul);
  const DefaultFloatEnvironment environment;  // strtod rounds numbers as the x87 is told to
  Handler handler(path, events);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace sidbeam::runner
