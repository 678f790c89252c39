// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <nlohmann/json.hpp>

namespace cli {
namespace {

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(double value) : text_(dump(value)) {}

Json::Json(const std::string& value) : text_(dump(value)) {}

Json::Json(std::initializer_list<Member> members) : Json() {
  for (const Member& member : members) add(member.name, member.value);
}

Json Json::raw(std::string text) {
  Json value;
  value.text_ = std::move(text);
  return value;
}

void Json::add(const std::string& name, const Json& value) {
  text_.pop_back();
  text_ += (text_.size() == 1 ? "" : ",") + Json(name).text_ + ':' + value.text_ + '}';
}

void print_json(const Json& document) { print(document.text() + '\n'); }

}  // namespace cli
