// Columns of attributes for the tests of the index: drawn at random, given to builders, and read back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>

#include "index/attributes/read.h"
#include "index/read/items.h"
#include "index/read/lookup.h"
#include "index_catalogues.h"

namespace sidbeam::testing {

using Value = std::variant<std::monostate, int64_t, float, bool, std::string, std::vector<std::string>>;  // first: null

struct TestColumn {
  std::string name;
  int32_t type = SIDBEAM_ATTRIBUTE_I64;
  std::vector<Value> values;  // by pair of the catalogue
};

// A caller's struct and the arrays that it points to.
struct Column {
  // The values of pairs [begin, end); as_bits: nulls as bits; as_codes: strings by a dictionary.
  Column(const TestColumn& from, size_t begin, size_t end, bool as_bits, bool as_codes) {
    for (size_t i = begin; i < end; ++i) add(from.values[i], as_codes);
    out.name = from.name.c_str();
    (as_bits ? out.valid_bits : out.valid) = as_bits ? bits.data() : valid.data();
    out.integers = integers.data();
    out.numbers = numbers.data();
    out.bools = bools.data();
    out.text = text.data();
    out.offsets = offsets.data();
    if (from.type == SIDBEAM_ATTRIBUTE_STRING_LIST) out.lists = lists.data();
    if (as_codes) out.codes = codes.data();
    out.string_count = static_cast<int64_t>(offsets.size()) - 1;
  }

  sidbeam_attribute_column out = SIDBEAM_ATTRIBUTE_COLUMN_INIT;

 private:
  void add_string(const std::string& string, bool as_codes) {
    const auto [known, is_new] = numbers_of.try_emplace(string, std::ssize(offsets) - 1);
    codes.push_back(as_codes ? known->second : std::ssize(offsets) - 1);
    if (as_codes && !is_new) return;
    text += string;
    offsets.push_back(std::ssize(text));
  }
  void add(const Value& value, bool as_codes) {
    const bool null = value.index() == 0;
    if (valid.size() % 8 == 0) bits.push_back(0);
    bits.back() = static_cast<uint8_t>(bits.back() | (null ? 0 : 1) << valid.size() % 8);
    valid.push_back(!null);
    // What stands in the place of a null is not read.
    integers.push_back(std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : 77);
    numbers.push_back(std::holds_alternative<float>(value) ? std::get<float>(value) : NAN);
    bools.push_back(std::holds_alternative<bool>(value) ? 2 * std::get<bool>(value) : 1);
    if (const auto* list = std::get_if<std::vector<std::string>>(&value); list != nullptr) {
      for (const std::string& string : *list) add_string(string, as_codes);
    } else {
      add_string(std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "\xff", as_codes);
    }
    lists.push_back(std::ssize(codes));
  }

  std::vector<uint8_t> valid, bits, bools;
  std::vector<int64_t> integers, offsets = {0}, lists = {0}, codes;
  std::vector<float> numbers;
  std::map<std::string, int64_t> numbers_of;
  std::string text;
};

inline void declare(Builder& builder, const std::vector<TestColumn>& columns) {
  for (const TestColumn& column : columns) builder.declare_attribute(column.name.c_str(), column.type);
}

inline Index build(const TestCatalogue& catalogue, const std::vector<TestColumn>& columns, int threads = 1,
                   size_t calls = 1) {
  Builder builder(catalogue.config(), threads, default_allocator());
  declare(builder, columns);
  const size_t size = catalogue.pairs.size();
  for (size_t call = 0; call < calls; ++call) {
    const size_t begin = size * call / calls, end = size * (call + 1) / calls;
    add_pairs(builder, catalogue, begin, end);
    for (size_t c = 0; c < columns.size(); ++c) {
      const Column column(columns[c], begin, end, (call + c) % 2 == 0, (call + c) % 3 == 0);
      builder.set_attribute(column.out, static_cast<int64_t>(end - begin));
    }
  }
  return builder.finish();
}

inline Value value_of(const Attribute& attribute, uint64_t row) {
  if (is_null(attribute, row)) return {};
  const auto text = [&](uint64_t code) {
    return code < attribute.dictionary.count ? std::string(attribute.dictionary[code]) : "?";
  };
  switch (attribute.type) {
    case AttributeType::kI64:
      return attribute.integers[row];
    case AttributeType::kF32:
      return attribute.numbers[row];
    case AttributeType::kBool:
      return has_bit(attribute.bools, row);
    case AttributeType::kString:
      return text(attribute.codes[row]);
    default:
      break;
  }
  std::vector<std::string> list;
  const CodeRange range = codes_of(attribute, row);
  for (uint64_t i = range.begin; i < range.end; ++i) list.push_back(text(attribute.codes[i]));
  return list;
}

// One column of each type; a pair's value follows from its SID and id, so that those which merge agree, or is null.
inline std::vector<TestColumn> random_columns(const TestCatalogue& catalogue, std::mt19937_64& random) {
  std::vector<TestColumn> columns = {{"price", SIDBEAM_ATTRIBUTE_I64, {}},
                                     {"score", SIDBEAM_ATTRIBUTE_F32, {}},
                                     {"in_stock", SIDBEAM_ATTRIBUTE_BOOL, {}},
                                     {"brand", SIDBEAM_ATTRIBUTE_STRING, {}},
                                     {"categories", SIDBEAM_ATTRIBUTE_STRING_LIST, {}}};
  const uint64_t salt = random(), distinct = 1 + random() % 50;
  const uint64_t null_of[] = {random() % 3, random() % 3, random() % 3, random() % 3, random() % 3};
  for (const Pair& pair : catalogue.pairs) {
    uint64_t key = salt;
    if (catalogue.id_type != SIDBEAM_ID_STRING) key += static_cast<uint64_t>(pair.id);
    for (const char c : catalogue.id_type == SIDBEAM_ID_STRING ? pair.name : "")
      key = key * 31 + static_cast<uint64_t>(c);
    for (const int32_t code : pair.sid) key = key * 1000003 + static_cast<uint64_t>(code) + 1;
    std::mt19937_64 own(key);
    const auto string = [&] { return own() % 9 == 0 ? std::string() : "s\u00e9-" + std::to_string(own() % distinct); };
    std::vector<std::string> list;
    for (uint64_t i = own() % 5; i > 0; --i)
      if (std::string next = string(); std::find(list.begin(), list.end(), next) == list.end()) list.push_back(next);
    const Value values[] = {static_cast<int64_t>(own() % 3 == 0 ? own() : own() % 20),
                            static_cast<float>(static_cast<int64_t>(own() % 999) - 400) / 8, own() % 2 == 0, string(),
                            list};
    for (size_t c = 0; c < columns.size(); ++c)
      columns[c].values.push_back(null_of[c] != 0 && random() % (2 * null_of[c]) == 0 ? Value() : values[c]);
  }
  return columns;
}

}  // namespace sidbeam::testing
