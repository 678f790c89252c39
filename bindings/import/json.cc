// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <algorithm>
#include <utility>

#include "failure.h"
#include "family.h"
#include "numbers.h"

namespace importer {
namespace {

std::string in_quotes(std::string_view name) { return "\"" + std::string(name) + "\""; }

// The text of a value that is no list and no object.
std::string_view raw_text(ondemand::value& value) {
  const std::string_view raw = value.raw_json_token();
  return raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1);
}

// What a message shows of a value.
std::string shown(ondemand::value& value) {
  const std::string_view raw = raw_text(value);
  if (!raw.empty() && (raw[0] == '[' || raw[0] == '{')) return raw[0] == '[' ? "a list" : "an object";
  return std::string(raw.substr(0, 60));
}

}  // namespace

JsonReader::JsonReader(Sids& sids, Attributes& attributes, const Options& options,
                       std::function<void(std::string_view)> name_item)
    : sids_(sids),
      attributes_(attributes),
      options_(options),
      name_item_(std::move(name_item)),
      fields_{{options.item_column, !options.item_column.empty(), "item_column"},
              {options.sid_columns, !options.sid_columns.empty(), "sid_columns"},
              {options.priority_column.empty() ? "priority" : options.priority_column, true, "priority_column"},
              {},
              {}} {}

std::string JsonReader::id_field() const { return fields_.item.name.empty() ? "key" : in_quotes(fields_.item.name); }

void JsonReader::check(simdjson::error_code error) const {
  if (error != simdjson::SUCCESS) sids_.fail(std::string("not JSON: ") + simdjson::error_message(error));
}

void JsonReader::fail_value(ondemand::value& value) const {
  sids_.fail(shown(value) + ", expected a token such as \"<a_236>\" or an integer code");
}

void JsonReader::fail_unclear(std::string_view text) const {
  sids_.fail("a list of '" + shortened(text) + "' and the like: whether each is a token or a SID cannot be told; " +
             options_.named("token_pattern") + " says what a token is");
}

void JsonReader::begin_places() {
  places_.marks.clear();
  places_.sid.clear();
  places_.whole = places_.simple = true;
}

// What stands between the quotes; what has escapes is read anew each time.
std::string_view JsonReader::unquoted(std::string_view raw) {
  if (raw.size() < 2 || raw.find('\\') != raw.npos) places_.simple = false;
  return raw.substr(1, raw.size() - 2);
}

void JsonReader::mark_item(std::string_view key) {
  if (key.find('\\') != key.npos) places_.simple = false;
  places_.marks.push_back({Pattern::Hole::kItem, key});
}

void JsonReader::mark_value(ondemand::value& value) {
  ondemand::json_type type{};
  check(value.type().get(type));
  if (type == ondemand::json_type::array || type == ondemand::json_type::object) {
    places_.simple = false;
  } else {
    places_.marks.push_back({Pattern::Hole::kValue, raw_text(value)});
  }
}

void JsonReader::read_number(Batch& batch, ondemand::value& value) {
  places_.sid.push_back(raw_text(value));
  int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return sids_.number(batch, number);
  double real = 0;
  const auto code = value.get_double().get(real) == simdjson::SUCCESS ? whole(real) : std::nullopt;
  if (!code) sids_.fail(shown(value) + ", expected an integer code");
  sids_.number(batch, *code);
}

void JsonReader::read_sids(Batch& batch, ondemand::value value) {
  ondemand::json_type type{};
  check(value.type().get(type));
  if (type == ondemand::json_type::array) {
    ondemand::array list;
    check(value.get_array().get(list));
    return read_list(batch, list, true);
  }
  if (type == ondemand::json_type::string) {
    places_.sid.push_back(unquoted(raw_text(value)));
    places_.whole = false;
    std::string_view text;
    check(value.get_string().get(text));
    sids_.text(text);
  } else if (type == ondemand::json_type::number) {
    read_number(batch, value);
  } else {
    fail_value(value);
  }
  sids_.end_sid(batch);
}

// Whether the strings in a list are SIDs by themselves, which the first one decides. "<s>12" may be a token too.
bool JsonReader::is_several(std::string_view first) {
  const size_t codes = codes_of_several(first, scratch_);
  unclear_ = codes == 1 && options_.token_pattern.empty();
  return codes > 1 || unclear_;
}

// A SID's codes, or, in an outer list, several SIDs.
void JsonReader::read_list(Batch& batch, ondemand::array list, bool outer) {
  bool first = true, several = false;
  for (auto element : list) {
    ondemand::value value;
    check(element.get(value));
    ondemand::json_type type{};
    check(value.type().get(type));
    if (type == ondemand::json_type::number) {
      if (several) fail_value(value);
      read_number(batch, value);
    } else if (type == ondemand::json_type::string) {
      places_.sid.push_back(unquoted(raw_text(value)));
      std::string_view text;
      check(value.get_string().get(text));
      if (first) several = outer && is_several(text);
      if (several) {
        if (!first && unclear_) fail_unclear(text);
        sids_.text(text);
        sids_.end_sid(batch);
      } else {
        sids_.token(text);
      }
    } else if (type == ondemand::json_type::array && outer && (first || several)) {
      if (first) unclear_ = false;
      several = true;
      ondemand::array inner;
      check(value.get_array().get(inner));
      read_list(batch, inner, false);
    } else {
      fail_value(value);
    }
    first = false;
  }
  if (!several) sids_.end_sid(batch);
  if (several) places_.simple = false;
}

std::string_view JsonReader::read_item(ondemand::value value) {
  ondemand::json_type type{};
  check(value.type().get(type));
  std::string_view name;
  if (type == ondemand::json_type::number) {
    name = raw_text(value);
    places_.marks.push_back({Pattern::Hole::kItemNumber, name});
    if (!parse_canonical<int64_t>(name) && !parse_canonical<uint64_t>(name)) {
      fail_field(fields_.item, "a string or an integer");
    }
    int64_t number = 0;
    uint64_t large = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS) check(value.get_uint64().get(large));
    return name;
  }
  if (type != ondemand::json_type::string) fail_field(fields_.item, "a string or an integer");
  places_.marks.push_back({Pattern::Hole::kItem, unquoted(raw_text(value))});
  check(value.get_string().get(name));
  if (name.empty()) sids_.fail(in_quotes(fields_.item.name) + ": empty id");
  return name;
}

// A list of strings; numbers are taken as they stand in the file.
bool JsonReader::take_list(size_t i, ondemand::value& value) {
  ondemand::array array;
  check(value.get_array().get(array));
  std::vector<std::string> list;
  bool good = true;
  for (auto element : array) {
    ondemand::value item;
    check(element.get(item));
    ondemand::json_type type{};
    check(item.type().get(type));
    std::string_view text;
    if (type == ondemand::json_type::string) check(item.get_string().get(text));
    if (type == ondemand::json_type::number) text = raw_text(item);
    good = good && (type == ondemand::json_type::string || type == ondemand::json_type::number);
    list.emplace_back(text);
  }
  return good && attributes_.list(i, std::move(list));
}

bool JsonReader::take_attribute(size_t i, ondemand::value& value, ondemand::json_type type) {
  if (type == ondemand::json_type::array) return take_list(i, value);
  if (type == ondemand::json_type::boolean) {
    bool truth = false;
    check(value.get_bool().get(truth));
    return attributes_.truth(i, truth);
  }
  if (type == ondemand::json_type::string) {
    std::string_view text;
    check(value.get_string().get(text));
    return attributes_.text(i, text);
  }
  if (type != ondemand::json_type::number) return false;
  const std::string_view raw = raw_text(value);
  int64_t integer = 0;
  if (value.get_int64().get(integer) == simdjson::SUCCESS) return attributes_.integer(i, integer);
  double number = 0;
  check(value.get_double().get(number));
  return attributes_.number(i, number, raw);
}

void JsonReader::read_attribute(size_t i, ondemand::value value) {
  places_.simple = false;
  ondemand::json_type type{};
  check(value.type().get(type));
  if (type == ondemand::json_type::null) {
    check_other(value);
    return attributes_.null(i);
  }
  const std::string what = shown(value);
  if (!take_attribute(i, value, type))
    sids_.fail(in_quotes(attributes_.name(i)) + ": " + what + ", expected " + attributes_.expected(i));
}

void JsonReader::fail_field(const Field& field, const std::string& expected) const {
  sids_.fail(in_quotes(field.name) + ": expected " + expected);
}

// Whether a key that is new is the field, by the names in use; two of them are one too many.
bool JsonReader::fits(Field& field, const Names& names, std::string_view key) {
  if (field.asked || !is_among(names, key)) return false;
  if (!field.name.empty()) {
    sids_.fail("fields " + in_quotes(field.name) + " and " + in_quotes(key) + " both fit, expected " +
               options_.named(field.option) + " to say which");
  }
  field.name = key;
  return true;
}

JsonReader::Role JsonReader::role_of(std::string_view key) {
  const auto is = [key](const Field& field) { return key == field.name && !field.name.empty(); };
  if (is(fields_.sid)) return Role::kSid;
  if (is(fields_.item)) return Role::kItem;
  if (is(fields_.priority)) return Role::kPriority;
  if (std::find(fields_.others.begin(), fields_.others.end(), key) != fields_.others.end()) return Role::kOther;
  if (key == fields_.near_priority && !key.empty()) return Role::kNearPriority;
  if (fits(fields_.sid, kSidNames, key)) return Role::kSid;
  if (fits(fields_.item, kItemNames, key)) return Role::kItem;
  if (options_.priority_column.empty() && are_near(key, fields_.priority.name)) {
    fields_.near_priority = key;
    return Role::kNearPriority;
  }
  constexpr size_t kMost = 64;
  if (fields_.others.size() < kMost) fields_.others.emplace_back(key);
  return Role::kOther;
}

// The parser passes over what nobody asks for, JSON or not; strings have ends, and lists and objects as many brackets.
void JsonReader::check_other(ondemand::value value) const {
  ondemand::json_type type{};
  check(value.type().get(type));
  const std::string_view raw = raw_text(value);
  const bool word = type == ondemand::json_type::boolean || type == ondemand::json_type::null;
  const bool number = type == ondemand::json_type::number;
  if (word ? raw == "true" || raw == "false" || raw == "null"
           : !number || skip_number(raw.data()) == raw.data() + raw.size()) {
    return;
  }
  sids_.fail("not JSON: " + shown(value));
}

// Nobody can say which of two values of one key is meant.
void JsonReader::check_keys() {
  constexpr size_t kFew = 8;
  if (keys_.size() <= kFew) {
    for (size_t i = 1; i < keys_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (keys_[i] == keys_[j]) sids_.fail(in_quotes(keys_[i]) + " comes twice in one object");
      }
    }
    return;
  }
  std::sort(keys_.begin(), keys_.end());
  const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
  if (twice != keys_.end()) sids_.fail(in_quotes(*twice) + " comes twice in one object");
}

int64_t JsonReader::read_priority(ondemand::value value) {
  int64_t priority = 0;
  found_priority_ = true;
  places_.marks.push_back({Pattern::Hole::kPriority, raw_text(value)});
  if (value.get_int64().get(priority) != simdjson::SUCCESS) fail_field(fields_.priority, "an integer");
  return priority;
}

// What a record must have, of the roles that it had.
void JsonReader::check_found(const Found& found) const {
  const auto missing = [&](const Field& field, const char* usual, const std::string& expected) {
    sids_.fail("no " + in_quotes(field.name.empty() ? usual : field.name) + " (" + options_.named(field.option) +
               "), expected " + expected);
  };
  if (found.near_priority && !found.priority) {
    sids_.fail(in_quotes(fields_.near_priority) + " may be " + in_quotes(fields_.priority.name) + ", expected " +
               options_.named(fields_.priority.option) + " to say which field the priorities are in");
  }
  if (!found.sid) missing(fields_.sid, "sid", "an array of codes");
  if (!found.item) missing(fields_.item, "item", "the item's id");
}

JsonReader::Record JsonReader::read_record(Batch& batch, ondemand::object object, bool has_item) {
  Record record;
  Found found;
  keys_.clear();
  for (auto field : object) {
    std::string_view key;
    check(field.unescaped_key().get(key));
    keys_.push_back(key);
    ondemand::value value;
    check(field.value().get(value));
    switch (has_item && !fields_.item.asked && is_among(kItemNames, key) ? Role::kOther : role_of(key)) {
      case Role::kSid:
        if (found.sid) sids_.fail(in_quotes(key) + " comes twice in one object");
        found.sid = true;
        read_sids(batch, value);
        break;
      case Role::kItem:
        record.item = read_item(value);
        name_item_(record.item);
        break;
      case Role::kPriority:
        record.priority = read_priority(value);
        found.priority = true;
        break;
      case Role::kNearPriority:
        found.near_priority = found.near_priority || attributes_.find(key) < 0;
        [[fallthrough]];
      default:
        if (const int attribute = attributes_.find(key); attribute >= 0) {
          read_attribute(static_cast<size_t>(attribute), value);
        } else {
          mark_value(value);
          check_other(value);
        }
    }
  }
  check_keys();
  found.item = has_item || !record.item.empty();
  check_found(found);
  return record;
}

}  // namespace importer
