// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/schema.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "support/error.h"
#include "support/escape.h"

namespace sidbeam::arrow {
namespace {

constexpr size_t kShownBytes = 100;

// SIDs are lists of lists at most, in a record batch; what lies deeper is no column of ours.
constexpr int kMostDepth = 3;

std::string shown(const char* text) {
  char line[kShownBytes];
  escape_into(text == nullptr ? "" : text, line, sizeof line);
  return line;
}

struct Format {
  std::string_view text;
  Type type;
};
constexpr Format kFormats[] = {
    {"c", Type::kI8},        {"s", Type::kI16},        {"i", Type::kI32},        {"l", Type::kI64},
    {"C", Type::kU8},        {"S", Type::kU16},        {"I", Type::kU32},        {"L", Type::kU64},
    {"f", Type::kF32},       {"g", Type::kF64},        {"u", Type::kText},       {"z", Type::kText},
    {"U", Type::kLargeText}, {"Z", Type::kLargeText},  {"vu", Type::kTextView},  {"vz", Type::kTextView},
    {"+l", Type::kList},     {"+L", Type::kLargeList}, {"+vl", Type::kListView}, {"+vL", Type::kLargeListView},
    {"+s", Type::kStruct},   {"b", Type::kBool},
};

Type type_of(std::string_view format, Field& field) {
  for (const Format& known : kFormats)
    if (format == known.text) return known.type;
  constexpr std::string_view kFixed = "+w:";
  if (!format.starts_with(kFixed)) return Type::kOther;
  const char* const end = format.data() + format.size();
  const auto [rest, error] = std::from_chars(format.data() + kFixed.size(), end, field.fixed);
  if (error != std::errc() || rest != end || field.fixed < 0 || field.fixed > INT32_MAX)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' has the format '%s', expected a number of elements after '+w:'",
         field.shown.c_str(), field.format.c_str());
  return Type::kFixedList;
}

Field read_field(const ArrowSchema& schema, int depth);

void read_children(const ArrowSchema& schema, int depth, Field& field) {
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr))
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': n_children %lld%s, expected an array of as many", field.shown.c_str(),
         static_cast<long long>(schema.n_children), schema.children == nullptr ? ", and children is NULL" : "");
  if (is_list(field.type) && schema.n_children != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' is a list with %lld children, expected 1", field.shown.c_str(),
         static_cast<long long>(schema.n_children));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    if (schema.children[i] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s': child %lld is NULL, expected a schema", field.shown.c_str(),
           static_cast<long long>(i));
    field.children.push_back(read_field(*schema.children[i], depth + 1));
  }
}

Field read_field(const ArrowSchema& schema, int depth) {
  Field field;
  field.name = schema.name == nullptr ? "" : schema.name;
  field.shown = shown(schema.name);
  if (schema.release == nullptr || schema.format == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' has %s, expected a schema", field.shown.c_str(),
         schema.release == nullptr ? "been released" : "no format");
  field.format = shown(schema.format);
  field.type = type_of(schema.format, field);
  const bool too_deep = depth > kMostDepth || (field.type == Type::kStruct && depth > 0);
  if (too_deep && !is_number(field.type) && !is_text(field.type)) field.type = Type::kOther;
  if (is_list(field.type) || field.type == Type::kStruct) read_children(schema, depth, field);
  if (schema.dictionary != nullptr) field.dictionary.push_back(read_field(*schema.dictionary, kMostDepth + 1));
  return field;
}

}  // namespace

Field read_schema(const ArrowSchema& schema) { return read_field(schema, 0); }

}  // namespace sidbeam::arrow
