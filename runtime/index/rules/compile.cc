// SPDX-License-Identifier: Apache-2.0
#include "index/rules/compile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "index/attributes/find.h"
#include "index/hash_seed.h"
#include "support/error.h"
#include "support/float_mode.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

constexpr uint64_t kMostBits = 1 << 20;  // 128 KiB, for integers that lie close to each other

struct Range {
  int64_t low, high;
};
constexpr Range kNothing = {0, -1};

struct TypeName {
  const char *holds, *one;  // what the column holds, and a value for it
};
TypeName name_of(AttributeType type) {
  switch (type) {
    case AttributeType::kI64:
      return {"integers", "an integer"};
    case AttributeType::kF32:
      return {"numbers", "a number"};
    case AttributeType::kBool:
      return {"bools", "true or false"};
    case AttributeType::kString:
      return {"strings", "text"};
    default:
      return {"lists of strings", "text"};
  }
}

[[noreturn]] void fail_value(const Term& term, const Attribute& column, const Value& value) {
  const TypeName type = name_of(column.type);
  char found[80];
  if (value.kind == Value::Kind::kInteger)
    std::snprintf(found, sizeof found, "%lld", static_cast<long long>(value.integer));
  else if (value.kind == Value::Kind::kNumber)
    std::snprintf(found, sizeof found, "the number %.17g", value.number);
  else if (value.kind == Value::Kind::kBool)
    std::snprintf(found, sizeof found, "%s", value.integer != 0 ? "true" : "false");
  else
    std::snprintf(found, sizeof found, "the text %s", Quoted(value.text).text);
  fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s holds %s, expected %s after %s, found %s", Quoted(term.column).text,
       type.holds, type.one, term_op_name(term.op), found);
}

void check_operator(const Term& term, const Attribute& column) {
  const bool is_list = column.type == AttributeType::kStringList, is_bool = column.type == AttributeType::kBool;
  if (term.op == TermOp::kIsNull) return;
  if (is_list ? term.op == TermOp::kContains : is_bool ? term.op <= TermOp::kNotEqual : term.op != TermOp::kContains)
    return;
  fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s holds %s, expected %s, found %s", Quoted(term.column).text,
       name_of(column.type).holds,
       is_list   ? "contains or is null"
       : is_bool ? "=, != or is null"
                 : "a comparison, in, between or is null",
       term_op_name(term.op));
}

int64_t integer_of(const Term& term, const Attribute& column, const Value& value) {
  if (value.kind == Value::Kind::kInteger) return value.integer;
  const double number = value.number;
  const bool is_number = value.kind == Value::Kind::kNumber;
  if (!is_number || std::trunc(number) != number || number < -0x1p63 || number >= 0x1p63)
    fail_value(term, column, value);
  return static_cast<int64_t>(number);
}

float float_of(const Term& term, const Attribute& column, const Value& value) {
  if (value.kind == Value::Kind::kInteger) return static_cast<float>(value.integer);
  if (value.kind != Value::Kind::kNumber) fail_value(term, column, value);
  // What rounds to 2^128 or beyond is infinite; C++ does not say so of a cast.
  constexpr double kHuge = 0x1.ffffffp127;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::abs(value.number) >= kHuge) return value.number > 0 ? kInfinity : -kInfinity;
  return static_cast<float>(value.number);
}

int64_t key_of(float value) { return float_key(std::bit_cast<int32_t>(value)); }

// The keys that equal a float: of 0 there are two.
Range keys_of(float value) {
  return value == 0 ? Range{key_of(-0.0F), key_of(0.0F)} : Range{key_of(value), key_of(value)};
}

// Of a damaged file the dictionary may have more strings than codes can name.
uint64_t code_count(const Attribute& column) {
  return column.codes.width == 8 ? column.dictionary.count
                                 : std::min(column.dictionary.count, uint64_t{1} << 8 * column.codes.width);
}

// The code of a text; where no row has it, nothing, at its place.
Range codes_of(const Attribute& column, std::string_view text) {
  const Dictionary& dictionary = column.dictionary;
  const uint64_t count = code_count(column);
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (dictionary[middle] < text)
      low = middle + 1;
    else
      high = middle;
  }
  const bool found = low < count && dictionary[low] == text;
  return {static_cast<int64_t>(low), static_cast<int64_t>(low) - (found ? 0 : 1)};
}

const std::string& text_of(const Term& term, const Attribute& column, const Value& value) {
  if (value.kind != Value::Kind::kText) fail_value(term, column, value);
  return value.text;
}

// What equals a value.
Range equal_to(const Term& term, const Attribute& column, const Value& value) {
  switch (column.type) {
    case AttributeType::kI64: {
      const int64_t integer = integer_of(term, column, value);
      return {integer, integer};
    }
    case AttributeType::kF32:
      return keys_of(float_of(term, column, value));
    case AttributeType::kBool:
      if (value.kind != Value::Kind::kBool) fail_value(term, column, value);
      return {value.integer, value.integer};
    default:
      return codes_of(column, text_of(term, column, value));
  }
}

Range all_of(const Attribute& column) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (column.type == AttributeType::kI64) return {INT64_MIN, INT64_MAX};
  if (column.type == AttributeType::kF32) return {key_of(-kInfinity), key_of(kInfinity)};
  return {0, static_cast<int64_t>(code_count(column)) - 1};
}

// The values that compare with `value` as `op` says.
Range compared(const Term& term, const Attribute& column, TermOp op, const Value& value) {
  const Range all = all_of(column), equal = equal_to(term, column, value);
  switch (op) {
    case TermOp::kLess:
      return equal.low == all.low ? kNothing : Range{all.low, equal.low - 1};
    case TermOp::kAtMost:
      return {all.low, equal.high};
    case TermOp::kGreater:
      return equal.high == all.high ? kNothing : Range{equal.high + 1, all.high};
    case TermOp::kAtLeast:
      return {equal.low, all.high};
    default:
      return equal;  // of kNotEqual too, which is negated
  }
}

// The quickest test for one of `values`, of which there are two or more, rising and not all that lie between.
void use_values(std::vector<int64_t> values, bool is_text, Test& test) {
  const uint64_t span = static_cast<uint64_t>(values.back()) - static_cast<uint64_t>(values.front());
  if (values.size() <= kMostFew) {
    test.kind = Test::Kind::kFew;
    test.few = std::move(values);
  } else if (is_text || span < kMostBits) {
    test.kind = Test::Kind::kBits;
    test.low = values.front();
    test.high = values.back();
    test.bits.assign((span + 1) / 64 + 1, 0);
    for (const int64_t value : values) {
      const uint64_t at = static_cast<uint64_t>(value) - static_cast<uint64_t>(test.low);
      test.bits[at / 64] |= uint64_t{1} << at % 64;
    }
  } else {
    test.kind = Test::Kind::kSet;
    test.set.mix = key_mix(secret_number());
    test.set.filler = values.front();
    test.set.slots.assign(std::bit_ceil(2 * values.size()), values.front());
    test.set.marks.assign(std::bit_ceil(values.size()), 0);
    for (const int64_t value : values) test.set.insert(value);
  }
}

void use_list(const Term& term, const Attribute& column, Test& test) {
  std::vector<int64_t> values;
  for (const Value& value : term.values) {
    const Range equal = equal_to(term, column, value);
    if (equal.low > equal.high) continue;
    values.push_back(equal.low);
    values.push_back(equal.high);  // the other 0 of floats
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) return;  // nothing is in an empty range
  const uint64_t span = static_cast<uint64_t>(values.back()) - static_cast<uint64_t>(values.front());
  if (span != values.size() - 1) return use_values(std::move(values), column.type >= AttributeType::kString, test);
  test.low = values.front();
  test.high = values.back();
}

Test compile_term(const Term& term, const Attributes& attributes) {
  Test test;
  test.column = &attribute_named(attributes, term.column, "filter: column");
  const Attribute& column = *test.column;
  check_operator(term, column);
  test.negated = term.op == TermOp::kNotEqual;
  if (term.op == TermOp::kIsNull) {
    test.kind = Test::Kind::kNull;
  } else if (term.op == TermOp::kIn || term.op == TermOp::kContains) {
    use_list(term, column, test);
  } else {
    const bool between = term.op == TermOp::kBetween;
    const Range range = compared(term, column, between ? TermOp::kAtLeast : term.op, term.values[0]);
    test.low = range.low;
    test.high = between ? compared(term, column, TermOp::kAtMost, term.values[1]).high : range.high;
  }
  return test;
}

// `on_stack`: sets that lie there when it begins.
void compile_part(const Expression& part, const Attributes& attributes, int on_stack, Program& program) {
  program.depth = std::max(program.depth, on_stack + 1);
  const auto add = [&program](Step::Kind kind) { program.steps.push_back({kind, 0}); };
  if (part.kind == Expression::Kind::kTerm) {
    program.steps.push_back({Step::Kind::kTest, static_cast<uint32_t>(program.tests.size())});
    program.tests.push_back(compile_term(part.term, attributes));
    return;
  }
  const bool is_or = part.kind == Expression::Kind::kOr;
  if (part.operands.empty()) return add(is_or ? Step::Kind::kNone : Step::Kind::kAll);
  for (size_t i = 0; i < part.operands.size(); ++i) {
    compile_part(part.operands[i], attributes, on_stack + (i > 0 ? 1 : 0), program);
    if (i > 0) add(is_or ? Step::Kind::kOr : Step::Kind::kAnd);
  }
  if (part.kind == Expression::Kind::kNot) add(Step::Kind::kNot);
}

}  // namespace

Program compile_expression(const Expression& expression, const Attributes& attributes) {
  check_expression(expression);
  const DefaultFloatMode mode;  // values become floats
  Program program;
  compile_part(expression, attributes, 0, program);
  return program;
}

}  // namespace sidbeam
