// JSON out: one document on standard output. Only json.cc includes nlohmann's library, which takes compilers seconds.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_JSON_H
#define SIDBEAM_CLI_JSON_H

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "terminal.h"

namespace cli {

// A value, as its text. A list makes an object: Json{{"sids", 4}, {"codes", codes}}.
class Json {
 public:
  struct Member;

  Json() : text_("{}") {}
  Json(std::nullptr_t) : text_("null") {}
  Json(std::integral auto value) : text_(std::to_string(value)) {
    if constexpr (std::same_as<decltype(value), bool>) text_ = value ? "true" : "false";
  }
  Json(double value);  // null where it is not finite
  // Ids and metadata are arbitrary bytes of the caller; bytes that are not UTF-8 become U+FFFD instead of a failure.
  Json(const std::string& value);
  Json(const char* value) : Json(std::string(value)) {}
  template <class T>
  Json(const std::vector<T>& values) : text_("[") {
    for (const T& value : values) text_ += (text_.size() == 1 ? "" : ",") + Json(value).text_;
    text_ += ']';
  }
  Json(std::initializer_list<Member> members);

  // A value whose text is known.
  static Json raw(std::string text);
  // Adds a member to an object.
  void add(const std::string& name, const Json& value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Json::Member {
  const char* name;
  Json value;
};

void print_json(const Json& document);

}  // namespace cli

#endif
