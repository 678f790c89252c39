// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/fields.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tuple>
#include <utility>

#include "runner/formats/text_file.h"
#include "support/error.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;

std::string format(double value) {
  const DefaultFloatEnvironment environment;  // printf rounds numbers as the x87 is told to
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// What came, for a message.
std::string describe(const Field& field) {
  switch (field.kind) {
    case JsonKind::kBoolean:
      return field.boolean ? "true" : "false";
    case JsonKind::kInteger:
      return std::to_string(field.integer);
    case JsonKind::kReal:
      return format(field.real);
    case JsonKind::kText:
      return in_quotes(field.text);
    default:
      return name_of(field.kind);
  }
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out;
  out += '\'';
  out.append(text.substr(0, 100));
  out += '\'';
  return out;
}

class FieldsReader : public JsonEvents {
 public:
  explicit FieldsReader(Fields& fields) : fields_(fields) {}

  void begin(JsonKind kind) override {
    if (++depth_ == 1) {
      if (kind != JsonKind::kObject) refuse();
    } else {
      add({kind, false, 0, 0.0, {}}, depth_ - 1);
      if (depth_ == 2) parent_ = static_cast<int32_t>(fields_.fields_.size()) - 1;
      name_.clear();
    }
  }
  void end() override {
    if (depth_-- == 2) parent_ = -1;
    name_.clear();
  }
  void key(std::string_view name) override {
    if (depth_ <= 2) name_ = name;
  }
  void scalar(const JsonScalar& value) override {
    if (depth_ == 0) refuse();
    add(value, depth_);
  }

 private:
  [[noreturn]] void refuse() const { fail(SIDBEAM_CORRUPT, "'%.300s' is not an object", fields_.path()); }
  void add(const JsonScalar& value, int depth) {
    if (depth > 2) return;
    fields_.fields_.push_back({depth == 1 ? -1 : parent_, value.kind, value.boolean, value.integer, value.real, name_,
                               std::string(value.text)});
  }

  Fields& fields_;
  std::string name_;
  int32_t parent_ = -1;
  int depth_ = 0;
};

Fields::Fields(std::string path) : path_(std::move(path)) {
  FieldsReader reader(*this);
  read_json(path_.c_str(), read_text(path_.c_str(), kMostBytes), reader);
  check_names();
}

void Fields::check_names() const {
  std::vector<int32_t> order;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const int32_t parent = fields_[i].parent;
    if (parent < 0 || fields_[static_cast<size_t>(parent)].kind == JsonKind::kObject)
      order.push_back(static_cast<int32_t>(i));
  }
  const auto key = [&](int32_t i) {
    const Field& field = fields_[static_cast<size_t>(i)];
    return std::tuple<int32_t, const std::string&>(field.parent, field.name);
  };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) == key(b); });
  if (twice != order.end())
    fail(SIDBEAM_CORRUPT, "'%.300s' has the field '%.100s' twice", path(),
         fields_[static_cast<size_t>(*twice)].name.c_str());
}

const Field* Fields::find(std::string_view name, int32_t parent) const {
  for (const Field& field : fields_)
    if (field.parent == parent && field.name == name) return &field;
  return nullptr;
}

ObjectReader ObjectReader::within(const Field& object) const {
  ObjectReader inner(fields_);
  inner.prefix_ = object.name + ".";
  inner.place_ = fields_.place(object);
  return inner;
}

void ObjectReader::check_scalars() const {
  for (const Field& field : fields_.all())
    if (field.parent == place_ && field.kind == JsonKind::kObject)
      unsupported(field.name.substr(0, 100).c_str(), "an object", "one setting for all layers");
}

bool ObjectReader::has_name_like(const Field& object, std::string_view begin) const {
  const int32_t place = fields_.place(object);
  return std::any_of(fields_.all().begin(), fields_.all().end(), [&](const Field& field) {
    return field.parent == place && std::string_view(field.name).substr(0, begin.size()) == begin;
  });
}

bool ObjectReader::has(std::string_view name) const {
  const Field* field = find(name);
  return field != nullptr && field->kind != JsonKind::kNull;
}

const Field& ObjectReader::required(const char* name, const std::string& expected) const {
  const Field* field = find(name);
  if (field == nullptr)
    fail(SIDBEAM_CORRUPT, "'%.200s' has no %s%s, expected %s", path(), prefix_.c_str(), name, expected.c_str());
  return *field;
}

void ObjectReader::wrong(const Field& field, const std::string& expected) const {
  corrupt(field.name.c_str(), describe(field), expected.c_str());
}

void ObjectReader::corrupt(const char* name, const std::string& came, const char* expected) const {
  fail(SIDBEAM_CORRUPT, "'%.200s' has %s%s %s, expected %s", path(), prefix_.c_str(), name, came.c_str(), expected);
}

void ObjectReader::unsupported(const char* name, const std::string& came, const char* expected) const {
  fail(SIDBEAM_UNSUPPORTED, "'%.200s' has %s%s %s, expected %s", path(), prefix_.c_str(), name, came.c_str(), expected);
}

int64_t ObjectReader::integer(const char* name, int64_t lowest, int64_t highest) const {
  const std::string expected = "an integer " + std::to_string(lowest) + ".." + std::to_string(highest);
  const Field& field = required(name, expected);
  if (field.kind != JsonKind::kInteger || field.integer < lowest || field.integer > highest) wrong(field, expected);
  return field.integer;
}

int64_t ObjectReader::integer(const char* name, int64_t lowest, int64_t highest, int64_t absent) const {
  return find(name) == nullptr ? absent : integer(name, lowest, highest);
}

double ObjectReader::real(const char* name, double lowest, double highest) const {
  const std::string expected = "a number " + format(lowest) + ".." + format(highest);
  const Field& field = required(name, expected);
  if ((field.kind != JsonKind::kInteger && field.kind != JsonKind::kReal) ||
      !(field.real >= lowest && field.real <= highest))
    wrong(field, expected);
  return field.real;
}

double ObjectReader::real(const char* name, double lowest, double highest, double absent) const {
  return find(name) == nullptr ? absent : real(name, lowest, highest);
}

bool ObjectReader::boolean(const char* name, bool absent) const {
  const Field* field = find(name);
  if (field == nullptr) return absent;
  if (field->kind != JsonKind::kBoolean) wrong(*field, "true or false");
  return field->boolean;
}

std::string ObjectReader::text(const char* name) const {
  const Field& field = required(name, "a string");
  if (field.kind != JsonKind::kText) wrong(field, "a string");
  return field.text;
}

std::string ObjectReader::text(const char* name, const char* absent) const {
  return find(name) == nullptr ? absent : text(name);
}

const Field* ObjectReader::object(const char* name) const {
  if (!has(name)) return nullptr;
  const Field* field = find(name);
  if (field->kind != JsonKind::kObject) wrong(*field, "an object");
  const int32_t place = fields_.place(*field);
  for (const Field& inner : fields_.all())
    if (inner.parent == place) return field;
  return nullptr;
}

std::vector<std::string_view> ObjectReader::texts(const char* name) const {
  std::vector<std::string_view> found;
  if (!has(name)) return found;
  const Field* list = find(name);
  if (list->kind != JsonKind::kArray) wrong(*list, "a list of strings");
  const int32_t place = fields_.place(*list);
  for (const Field& element : fields_.all()) {
    if (element.parent != place) continue;
    if (element.kind != JsonKind::kText) wrong(*list, "a list of strings");
    found.push_back(element.text);
  }
  return found;
}

}  // namespace sidbeam::runner
