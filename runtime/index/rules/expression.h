// What a filter asks of an item's attributes, before it is looked up in an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sidbeam {

// Numbers are those of the ABI (SIDBEAM_TERM_*).
enum class TermOp : uint8_t {
  kEqual = 1,
  kNotEqual = 2,
  kLess = 3,
  kAtMost = 4,
  kGreater = 5,
  kAtLeast = 6,
  kIn = 7,
  kBetween = 8,   // both bounds count
  kContains = 9,  // a list has one of the values
  kIsNull = 10    // no values
};

// A constant. `number` of an integer is left at 0: an int64 need not fit a double.
struct Value {
  enum class Kind : uint8_t { kInteger, kNumber, kBool, kText };
  Kind kind = Kind::kInteger;
  int64_t integer = 0;  // of kInteger and, as 0 or 1, kBool
  double number = 0.0;
  std::string text;
};

struct Term {
  std::string column;
  TermOp op = TermOp::kEqual;
  std::vector<Value> values;  // one, but two of kBetween, any number of kIn and kContains, none of kIsNull
};

// A tree. An item passes `and` of nothing, and fails `or` of nothing.
struct Expression {
  enum class Kind : uint8_t { kTerm, kAnd, kOr, kNot };
  Kind kind = Kind::kTerm;
  Term term;                         // of kTerm
  std::vector<Expression> operands;  // of the others; one of kNot
};

// Parentheses and `not`s that are open at one place of a text, terms of a filter, and expressions on a path of its tree
// (between two parentheses a text nests an `or` and an `and`).
inline constexpr int kMostNesting = 200;
inline constexpr int kMostTerms = 1024;
inline constexpr int kMostDepth = 2 * kMostNesting + 3;

// As a text has it: "<=".
const char* term_op_name(TermOp op);

// Throws INVALID_ARGUMENT unless the tree is within these bounds, each part has what the comments above say, no number
// is NaN, and all text is UTF-8 without NUL.
void check_expression(const Expression& expression);

// "'price'", for messages: on one line, and cut.
struct Quoted {
  explicit Quoted(std::string_view name);
  char text[64];
};

}  // namespace sidbeam
