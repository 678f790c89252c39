// Columns made by hand, and what a filter says of a row of them: row by row, by the plain meaning of its words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "index/attributes/columns.h"
#include "index/rules/expression.h"

namespace filters {

using sidbeam::Attribute;
using sidbeam::AttributeType;
using sidbeam::Expression;
using sidbeam::Term;
using sidbeam::TermOp;
using sidbeam::Value;

// The same tree, numbers compared by bits.
inline bool same(const Value& a, const Value& b) {
  return a.kind == b.kind && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number) && a.text == b.text;
}
inline bool same(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.term.column == b.term.column && a.term.op == b.term.op &&
         std::equal(a.term.values.begin(), a.term.values.end(), b.term.values.begin(), b.term.values.end(),
                    [](const Value& x, const Value& y) { return same(x, y); }) &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    [](const Expression& x, const Expression& y) { return same(x, y); });
}

// What a row has in a column.
struct Cell {
  bool null = false;
  int64_t integer = 0;
  float number = 0;
  bool flag = false;
  std::vector<std::string> texts;  // one, or a list
};

struct Column {
  std::string name;
  AttributeType type = AttributeType::kI64;
  std::vector<Cell> cells;
};

// The views of columns, with memory for each array of exactly its size.
class Views {
 public:
  explicit Views(const std::vector<Column>& columns) {
    for (const Column& column : columns) add(column);
  }
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  sidbeam::Attributes attributes;

 private:
  template <class T>
  const T* keep(const std::vector<T>& values) {
    std::vector<uint8_t>& block = blocks_.emplace_back(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(block.data(), values.data(), block.size());
    return reinterpret_cast<const T*>(block.data());
  }

  sidbeam::UintArray keep_in(const std::vector<uint64_t>& values, int width) {
    if (width == 2) return {keep(std::vector<uint16_t>(values.begin(), values.end())), width};
    if (width == 4) return {keep(std::vector<uint32_t>(values.begin(), values.end())), width};
    return {keep(values), width};
  }

  template <class Is>
  const uint64_t* keep_bits(const Column& column, const Is& is) {
    std::vector<uint64_t> bits((column.cells.size() + 63) / 64);
    for (size_t i = 0; i < column.cells.size(); ++i) bits[i / 64] |= uint64_t{is(column.cells[i])} << i % 64;
    return keep(bits);
  }

  void add(const Column& column) {
    Attribute& out = attributes.emplace_back();
    out.name = names_.emplace_back(column.name);
    out.type = column.type;
    if (std::any_of(column.cells.begin(), column.cells.end(), [](const Cell& cell) { return cell.null; }))
      out.valid = keep_bits(column, [](const Cell& cell) { return !cell.null; });
    std::vector<int64_t> integers;
    std::vector<float> numbers;
    for (const Cell& cell : column.cells) {
      integers.push_back(cell.integer);
      numbers.push_back(cell.number);
    }
    if (column.type == AttributeType::kI64) out.integers = keep(integers);
    if (column.type == AttributeType::kF32) out.numbers = keep(numbers);
    if (column.type == AttributeType::kBool) out.bools = keep_bits(column, [](const Cell& cell) { return cell.flag; });
    if (column.type >= AttributeType::kString) add_texts(column, out);
  }

  void add_texts(const Column& column, Attribute& out) {
    std::set<std::string> texts;
    for (const Cell& cell : column.cells) texts.insert(cell.texts.begin(), cell.texts.end());
    std::vector<uint64_t> offsets = {0}, codes, lists = {0};
    std::vector<char> all;
    for (const std::string& text : texts) {
      all.insert(all.end(), text.begin(), text.end());
      offsets.push_back(all.size());
    }
    for (const Cell& cell : column.cells) {
      for (const std::string& text : cell.texts)
        codes.push_back(static_cast<uint64_t>(std::distance(texts.begin(), texts.find(text))));
      if (cell.texts.empty() && column.type == AttributeType::kString) codes.push_back(0);
      lists.push_back(codes.size());
    }
    out.dictionary = {texts.size(), all.size(), keep(offsets), keep(all)};
    const int width = 2 << attributes.size() % 3;
    out.codes = keep_in(codes, width);
    if (column.type != AttributeType::kStringList) return;
    out.offsets = keep_in(lists, width == 8 ? 4 : 8);
    out.code_count = codes.size();
  }

  std::deque<std::string> names_;
  std::deque<std::vector<uint8_t>> blocks_;
};

template <class T>
bool passes(TermOp op, const T& value, const std::vector<T>& values) {
  switch (op) {
    case TermOp::kEqual:
      return value == values[0];
    case TermOp::kNotEqual:
      return value != values[0];
    case TermOp::kLess:
      return value < values[0];
    case TermOp::kAtMost:
      return value <= values[0];
    case TermOp::kGreater:
      return value > values[0];
    case TermOp::kAtLeast:
      return value >= values[0];
    case TermOp::kBetween:
      return value >= values[0] && value <= values[1];
    default:
      return std::find(values.begin(), values.end(), value) != values.end();
  }
}

// For terms that fit their column.
inline bool passes(const Term& term, const std::vector<Column>& columns, size_t row) {
  const auto column =
      std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == term.column; });
  const Cell& cell = column->cells[row];
  if (cell.null || term.op == TermOp::kIsNull) return cell.null && term.op == TermOp::kIsNull;
  std::vector<int64_t> integers;
  std::vector<float> numbers;
  std::vector<bool> flags;
  std::vector<std::string> texts;
  for (const Value& value : term.values) {
    const bool whole = value.kind == Value::Kind::kInteger;
    if (column->type == AttributeType::kI64)
      integers.push_back(whole ? value.integer : static_cast<int64_t>(value.number));
    numbers.push_back(whole ? static_cast<float>(value.integer) : static_cast<float>(value.number));
    flags.push_back(value.integer != 0);
    texts.push_back(value.text);
  }
  if (column->type == AttributeType::kI64) return passes(term.op, cell.integer, integers);
  if (column->type == AttributeType::kF32) return passes(term.op, cell.number, numbers);
  if (column->type == AttributeType::kBool) return passes(term.op, cell.flag, flags);
  return std::any_of(cell.texts.begin(), cell.texts.end(),
                     [&](const std::string& text) { return passes(term.op, text, texts); });
}

inline bool passes(const Expression& expression, const std::vector<Column>& columns, size_t row) {
  const auto operand = [&](const Expression& part) { return passes(part, columns, row); };
  const std::vector<Expression>& parts = expression.operands;
  switch (expression.kind) {
    case Expression::Kind::kTerm:
      return passes(expression.term, columns, row);
    case Expression::Kind::kAnd:
      return std::all_of(parts.begin(), parts.end(), operand);
    case Expression::Kind::kOr:
      return std::any_of(parts.begin(), parts.end(), operand);
    default:
      return !operand(parts[0]);
  }
}

// Values that columns and filters share, so that they meet, with what lies at the ends of the types.
inline const std::vector<int64_t>& integers() {
  static const std::vector<int64_t> all = {0, 1, -1, 2, 3, 5, 8, 13, 1000, INT64_MIN, INT64_MIN + 1, INT64_MAX};
  return all;
}
inline const std::vector<double>& numbers() {
  static const std::vector<double> all = {0.0,    -0.0, 0.1,   1.5,   -2,     16777217,
                                          3.4e38, 1e39, -1e39, 1e-45, -1e-46, 0.30000001};
  return all;
}
inline const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {"",  "a",  "ab", "b",    "in", "us", "\xc3\xbc", "z z",
                                               "A", "a.", "~",  "true", "x9", "ca", "\n",       "\xf0\x9f\x8d\x8e"};
  return all;
}

// One column of each type with nulls, and one without.
inline std::vector<Column> make_columns(size_t items, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&random](const auto& from) { return from[random() % from.size()]; };
  std::vector<Column> columns;
  for (const char* name : {"age", "age_", "price", "price_", "stock", "stock_", "region", "region_", "tags", "tags_"}) {
    Column& column = columns.emplace_back();
    column.name = name;
    column.type = static_cast<AttributeType>(1 + (columns.size() - 1) / 2);
    for (size_t i = 0; i < items; ++i) {
      Cell& cell = column.cells.emplace_back();
      cell.null = columns.size() % 2 == 0 && random() % 4 == 0;
      cell.integer = pick(integers());
      cell.number = static_cast<float>(pick(numbers()));
      cell.flag = random() % 2 == 0;
      if (column.type != AttributeType::kStringList) {
        cell.texts.push_back(pick(texts()));
      } else if (random() % 16 == 0) {  // long, and mostly the same
        cell.texts.assign(random() % 200, "x9");
        if (!cell.texts.empty() && random() % 2 == 0) cell.texts[random() % cell.texts.size()] = pick(texts());
      } else {
        for (uint64_t j = random() % 4; j > 0; --j) cell.texts.push_back(pick(texts()));
      }
    }
  }
  return columns;
}

}  // namespace filters
