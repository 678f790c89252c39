// SPDX-License-Identifier: Apache-2.0
#include "attributes.h"

#include <sidbeam/index.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "failure.h"
#include "numbers.h"
#include "options.h"

namespace importer {
namespace {

constexpr const char* kTypes[] = {"", "i64", "f32", "bool", "string", "strings"};

std::optional<bool> parse_bool(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "true" || lower == "1") return true;
  if (lower == "false" || lower == "0") return false;
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  if (!looks_like_number(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

bool fits_f32(double value) { return std::isfinite(static_cast<float>(value)); }

// What the text of a cell looks like.
int32_t type_of(std::string_view cell) {
  if (cell != "0" && cell != "1" && parse_bool(cell)) return SIDBEAM_ATTRIBUTE_BOOL;
  if (parse_canonical<int64_t>(cell)) return SIDBEAM_ATTRIBUTE_I64;
  const auto number = parse_number(cell);
  const bool padded = cell[0] == '0' && cell.size() > 1 && is_digit(cell[1]);
  return number && fits_f32(*number) && !padded ? SIDBEAM_ATTRIBUTE_F32 : SIDBEAM_ATTRIBUTE_STRING;
}

std::vector<std::string> split_bars(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

const char* attribute_type_name(int32_t type) { return kTypes[type]; }

std::vector<AttributeSpec> parse_attributes(const Options& options) {
  std::vector<AttributeSpec> specs;
  const std::string& text = options.attributes;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t colon = part.rfind(':');
    AttributeSpec spec{part.substr(0, colon), 0};
    if (colon != part.npos) {
      const auto* const known = std::find(std::begin(kTypes), std::end(kTypes), part.substr(colon + 1));
      if (known == std::end(kTypes) || known == std::begin(kTypes))
        throw UsageError(options.named("attributes") + ": '" + part +
                         "', expected a type i64, f32, bool, string or strings after the colon");
      spec.type = static_cast<int32_t>(known - std::begin(kTypes));
    }
    if (spec.name.empty()) throw UsageError(options.named("attributes") + ": an empty name in '" + text + "'");
    if (std::any_of(specs.begin(), specs.end(), [&](const AttributeSpec& other) { return other.name == spec.name; }))
      throw UsageError(options.named("attributes") + ": '" + spec.name + "' comes twice");
    specs.push_back(std::move(spec));
    begin = end + 1;
  }
  return specs;
}

Attributes::Attributes(const std::vector<AttributeSpec>& specs) {
  for (const AttributeSpec& spec : specs) {
    columns_.emplace_back().spec = spec;
    columns_.back().given = spec.type != 0;
  }
}

int Attributes::find(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].spec.name == name) return static_cast<int>(i);
  return -1;
}

void Attributes::begin() {
  for (Column& column : columns_) column.value.valid = false;
}

std::string Attributes::expected(size_t i) const {
  constexpr const char* kExpected[] = {"a number, true, false, text or a list of texts",
                                       "an integer (i64)",
                                       "a number (f32)",
                                       "true or false (bool)",
                                       "text in UTF-8 (string)",
                                       "a list of texts (strings)"};
  const Column& column = columns_[i];
  return kExpected[column.spec.type] +
         std::string(column.given || column.spec.type == 0 ? "" : " as in the records before");
}

// What a value of this type makes of a type that is to be found. `untyped`: text that may also be taken as a string.
bool Attributes::teach(Column& column, int32_t type, bool untyped) {
  int32_t& known = column.spec.type;
  const auto is_number = [](int32_t t) { return t == SIDBEAM_ATTRIBUTE_I64 || t == SIDBEAM_ATTRIBUTE_F32; };
  if (known == 0 || known == type) {
    known = type;
  } else if (is_number(known) && is_number(type)) {
    known = SIDBEAM_ATTRIBUTE_F32;
  } else if (untyped) {
    known = SIDBEAM_ATTRIBUTE_STRING;
  } else {
    return false;
  }
  return true;
}

bool Attributes::keep_number(Column& column, double value) {
  column.value.number = static_cast<float>(value);
  return column.value.valid = std::isfinite(column.value.number);
}

bool Attributes::keep_text(Column& column, std::string_view text) {
  column.value.text = text;
  return column.value.valid = true;
}

bool Attributes::integer(size_t i, int64_t value) {
  Column& column = columns_[i];
  column.found = true;
  column.value.integer = value;
  if (!column.given) return teach(column, SIDBEAM_ATTRIBUTE_I64, false);
  switch (column.spec.type) {
    case SIDBEAM_ATTRIBUTE_I64:
      return column.value.valid = true;
    case SIDBEAM_ATTRIBUTE_F32:
      return keep_number(column, static_cast<double>(value));
    case SIDBEAM_ATTRIBUTE_BOOL:
      return column.value.valid = value == 0 || value == 1;
    case SIDBEAM_ATTRIBUTE_STRING:
      return keep_text(column, std::to_string(value));
    default:
      return false;
  }
}

bool Attributes::number(size_t i, double value, std::string_view text) {
  Column& column = columns_[i];
  column.found = true;
  if (!column.given) return teach(column, SIDBEAM_ATTRIBUTE_F32, false) && fits_f32(value);
  if (column.spec.type == SIDBEAM_ATTRIBUTE_F32) return keep_number(column, value);
  if (column.spec.type == SIDBEAM_ATTRIBUTE_STRING) return keep_text(column, text);
  const auto integer = whole(value);
  if (column.spec.type != SIDBEAM_ATTRIBUTE_I64 || !integer) return false;
  column.value.integer = *integer;
  return column.value.valid = true;
}

bool Attributes::truth(size_t i, bool value) {
  Column& column = columns_[i];
  column.found = true;
  column.value.integer = value ? 1 : 0;
  if (!column.given) return teach(column, SIDBEAM_ATTRIBUTE_BOOL, false);
  return column.value.valid = column.spec.type == SIDBEAM_ATTRIBUTE_BOOL;
}

bool Attributes::text(size_t i, std::string_view value) {
  Column& column = columns_[i];
  column.found = true;
  if (!column.given) return teach(column, SIDBEAM_ATTRIBUTE_STRING, false);
  return column.spec.type == SIDBEAM_ATTRIBUTE_STRING && keep_text(column, value);
}

bool Attributes::list(size_t i, std::vector<std::string> value) {
  Column& column = columns_[i];
  column.found = true;
  if (!column.given) return teach(column, SIDBEAM_ATTRIBUTE_STRING_LIST, false);
  column.value.list = std::move(value);
  return column.value.valid = column.spec.type == SIDBEAM_ATTRIBUTE_STRING_LIST;
}

bool Attributes::cell(size_t i, std::string_view text) {
  Column& column = columns_[i];
  column.found = true;
  if (text.empty()) return true;
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    column.spec.type = SIDBEAM_ATTRIBUTE_STRING;
    return false;
  }
  if (!column.given) return teach(column, type_of(text), true);
  switch (column.spec.type) {
    case SIDBEAM_ATTRIBUTE_I64: {
      const auto integer = parse_whole(text);
      column.value.integer = integer.value_or(0);
      return column.value.valid = integer.has_value();
    }
    case SIDBEAM_ATTRIBUTE_F32: {
      const auto number = parse_number(text);
      return number && keep_number(column, *number);
    }
    case SIDBEAM_ATTRIBUTE_BOOL: {
      const auto truth = parse_bool(text);
      column.value.integer = truth.value_or(false) ? 1 : 0;
      return column.value.valid = truth.has_value();
    }
    default:
      column.value.list = split_bars(text);
      return keep_text(column, text);
  }
}

void AttributeValues::add(int32_t type, const AttributeValue& value) {
  const auto add_text = [this](const std::string& one) {
    text += one;
    text_ends.push_back(static_cast<int64_t>(text.size()));
  };
  valid.push_back(value.valid ? 1 : 0);
  switch (type) {
    case SIDBEAM_ATTRIBUTE_I64:
      return integers.push_back(value.integer);
    case SIDBEAM_ATTRIBUTE_F32:
      return numbers.push_back(value.number);
    case SIDBEAM_ATTRIBUTE_BOOL:
      return bools.push_back(value.integer != 0 ? 1 : 0);
    case SIDBEAM_ATTRIBUTE_STRING:
      return add_text(value.valid ? value.text : "");
    default:
      if (value.valid) std::for_each(value.list.begin(), value.list.end(), add_text);
      list_ends.push_back(static_cast<int64_t>(text_ends.size()));
  }
}

void AttributeValues::clear() {
  valid.clear();
  bools.clear();
  integers.clear();
  numbers.clear();
  text.clear();
  text_ends.clear();
  list_ends.clear();
}

void Attributes::end(Batch& batch) const {
  batch.attributes.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    AttributeValues& out = batch.attributes[i];
    while (column.given && out.valid.size() < batch.size()) out.add(column.spec.type, column.value);
  }
}

std::vector<AttributeSpec> Attributes::finish(const Options& options, const char* what) const {
  std::vector<AttributeSpec> specs;
  for (const Column& column : columns_) {
    const std::string& name = column.spec.name;
    if (!column.found)
      throw Failure("'" + options.input + "': no record has a " + what + " '" + name + "' (" +
                    options.named("attributes") + ")");
    if (column.spec.type == 0)
      throw Failure("'" + options.input + "': '" + name + "' has no value, expected " + options.named("attributes") +
                    " to say its type, as in " + name + ":i64");
    specs.push_back(column.spec);
  }
  return specs;
}

}  // namespace importer
