// SPDX-License-Identifier: Apache-2.0
#include "live_record.h"

#include <cmath>
#include <deque>

#include "items.h"
#include "json_lines.h"

namespace cli {

namespace dom = simdjson::dom;

namespace {

std::string shown(dom::element value) { return importer::shortened(simdjson::minify(value)); }

// The texts of a value of a list, or the one of a string.
bool read_texts(dom::element value, bool list, std::vector<std::string>& texts) {
  std::string_view text;
  if (!list) {
    if (value.get(text)) return false;
    texts.emplace_back(text);
    return true;
  }
  dom::array values;
  if (value.get(values)) return false;
  for (const dom::element each : values) {
    if (each.get(text)) return false;
    texts.emplace_back(text);
  }
  return true;
}

}  // namespace

struct LiveRecords::Column {
  Column(const Value& value, size_t count)
      : valid(count, value.valid),
        bools(count, value.integer != 0),
        integers(count, value.integer),
        numbers(count, value.number) {
    for (size_t i = 0; i < count; ++i) {
      for (const std::string& each : value.texts) {
        text += each;
        offsets.push_back(static_cast<int64_t>(text.size()));
      }
      // A string that is null has its place too.
      if (value.info.type == SIDBEAM_ATTRIBUTE_STRING && value.texts.empty()) offsets.push_back(offsets.back());
      lists.push_back(std::ssize(offsets) - 1);
    }
    column.name = value.info.name;
    column.valid = valid.data();
    column.integers = integers.data();
    column.numbers = numbers.data();
    column.bools = bools.data();
    column.text = text.data();
    column.offsets = offsets.data();
    if (value.info.type == SIDBEAM_ATTRIBUTE_STRING_LIST) column.lists = lists.data();
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  std::vector<uint8_t> valid, bools;
  std::vector<int64_t> integers;
  std::vector<float> numbers;
  std::string text;
  std::vector<int64_t> offsets = {0}, lists = {0};
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
};

LiveRecords::LiveRecords(const sidbeam_index* index) : index_(index), info_(index_info(index)) {}

void LiveRecords::read_sid(const std::string& place, dom::array codes) {
  const size_t first = codes_.size();
  for (const dom::element each : codes) {
    int64_t code = 0;
    if (each.get(code) || code < 0 || code > INT32_MAX)
      throw Failure(place + ": \"sid\": " + shown(each) + ", expected a code");
    codes_.push_back(static_cast<int32_t>(code));
  }
  const size_t length = codes_.size() - first, levels = static_cast<size_t>(info_.levels);
  if (length == 0 || length > levels || (length < levels && info_.variable_length == 0)) {
    throw Failure(place + ": \"sid\": " + std::to_string(length) + " codes, expected " +
                  (info_.variable_length != 0 ? "1.." : "") + std::to_string(levels));
  }
  codes_.resize(first + levels);
  lengths_.push_back(static_cast<int32_t>(length));
}

void LiveRecords::read_sids(const std::string& place, dom::element value) {
  codes_.clear();
  lengths_.clear();
  dom::array codes, inner;
  if (value.get(codes) || codes.size() == 0)
    throw Failure(place + ": \"sid\": " + shown(value) + ", expected an array of codes, or of such arrays");
  if (codes.at(0).get(inner)) return read_sid(place, codes);
  for (const dom::element each : codes) {
    if (each.get(inner)) throw Failure(place + ": \"sid\": " + shown(each) + ", expected an array of codes");
    read_sid(place, inner);
  }
}

LiveRecords::Value LiveRecords::read_value(const std::string& place, std::string_view name, dom::element value) const {
  Value out;
  int64_t number = -1;
  call(sidbeam_index_find_attribute, index_, std::string(name).c_str(), &number);
  if (number < 0) throw Failure(place + ": '" + std::string(name) + "' is no attribute of the catalogue");
  call(sidbeam_index_get_attribute, index_, number, &out.info);
  if (value.is_null()) return out;
  bool truth = false, fits = false;
  double real = 0;
  switch (out.info.type) {
    case SIDBEAM_ATTRIBUTE_I64:
      fits = !value.get(out.integer);
      break;
    case SIDBEAM_ATTRIBUTE_F32:
      fits = !value.get(real) && std::isfinite(static_cast<float>(real));
      out.number = static_cast<float>(real);
      break;
    case SIDBEAM_ATTRIBUTE_BOOL:
      fits = !value.get(truth);
      out.integer = truth ? 1 : 0;
      break;
    default:
      fits = read_texts(value, out.info.type == SIDBEAM_ATTRIBUTE_STRING_LIST, out.texts);
  }
  if (!fits)
    throw Failure(place + ": '" + std::string(name) + "': " + shown(value) + ", expected " +
                  kAttributeTypes[out.info.type] + " or null");
  out.valid = 1;
  return out;
}

void LiveRecords::send(const std::string& item, const int64_t* priority, const std::vector<Value>& values,
                       sidbeam_catalog* catalog) const {
  const size_t count = lengths_.size();
  std::deque<Column> columns;
  std::vector<const sidbeam_attribute_column*> pointers;
  for (const Value& value : values) pointers.push_back(&columns.emplace_back(value, count).column);
  const std::vector<int64_t> priorities(count, priority != nullptr ? *priority : 0);
  std::vector<int64_t> ids, ends = {0};
  std::string names;
  for (size_t i = 0; i < count; ++i) {
    if (info_.id_type != SIDBEAM_ID_STRING) ids.push_back(parse_id("\"item\"", info_.id_type, item));
    names += item;
    ends.push_back(static_cast<int64_t>(names.size()));
  }
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes_.data();
  pairs.lengths = info_.variable_length != 0 ? lengths_.data() : nullptr;
  pairs.count = static_cast<int64_t>(count);
  if (info_.id_type == SIDBEAM_ID_STRING) {
    pairs.id_bytes = names.data();
    pairs.id_offsets = ends.data();
  } else {
    pairs.ids = ids.data();
  }
  if (priority != nullptr) pairs.priorities = priorities.data();
  pairs.attributes = pointers.data();
  pairs.attribute_count = std::ssize(pointers);
  call(sidbeam_catalog_add, catalog, &pairs);
}

void LiveRecords::add(const std::string& place, dom::element record, sidbeam_catalog* catalog) {
  dom::object object;
  if (record.get(object)) throw Failure(place + ": \"add\": " + shown(record) + ", expected an object");
  if (const std::string complaint = keys_.complaint(object); !complaint.empty())
    throw Failure(place + ": " + complaint);
  std::string item;
  int64_t priority = 0;
  bool has_item = false, has_sid = false, has_priority = false;
  std::vector<Value> values;
  for (const dom::key_value_pair& field : object) {
    if (field.key == "item") {
      item = json_item(place + ": \"item\"", field.value);
      has_item = true;
    } else if (field.key == "sid") {
      read_sids(place, field.value);
      has_sid = true;
    } else if (field.key == "priority") {
      if (field.value.get(priority))
        throw Failure(place + ": \"priority\": " + shown(field.value) + ", expected an integer");
      has_priority = true;
    } else {
      values.push_back(read_value(place, field.key, field.value));
    }
  }
  if (!has_item || !has_sid) throw Failure(place + R"(: "add": expected an object with "item" and "sid")");
  try {
    send(item, has_priority ? &priority : nullptr, values, catalog);
  } catch (const Failure& failure) {
    throw Failure(place + ": " + failure.what());
  }
}

}  // namespace cli
