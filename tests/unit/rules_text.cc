// Filters as text: what is read, how it is printed, and where a mistake is.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../filter_rig.h"
#include "index/rules/parse.h"
#include "index/rules/print.h"
#include "support/error.h"
#include "support/escape.h"
#include "support/utf8.h"

namespace sidbeam::testing {
namespace {

using filters::same;

template <class Call>
std::string failure_of(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
    return failure.message;
  }
  return "no failure";
}

std::string parse_failure(const std::string& text) {
  return failure_of([&] { parse_expression(text); });
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(FilterText, HasOneFormForEachTree) {
  struct Form {
    std::string text, printed;
  };
  const Form forms[] = {
      {"price<20 and region in (us, ca) and not brand=\"x\"", "price<20 and region in (us, ca) and not brand=x"},
      {"a==1 or b<>2 or c!=3", "a=1 or b!=2 or c!=3"},
      {" a <= 1\tAND\r\n b>=2 Or c > -3 ", "a<=1 and b>=2 or c>-3"},
      {"a=1 and (b=2 or c=3)", "a=1 and (b=2 or c=3)"},
      {"((a=1) and (b=2)) or ((c=3))", "a=1 and b=2 or c=3"},
      {"a=1 and (b=2 and c=3)", "a=1 and (b=2 and c=3)"},
      {"not a=1 and b=2", "not a=1 and b=2"},
      {"not (a=1 and b=2)", "not (a=1 and b=2)"},
      {"not not (a=1)", "not not a=1"},
      {"not a in (1)", "a not in (1)"},
      {"a IS NULL or b is not null", "a is null or b is not null"},
      {"a not between 1 and 2 and b=3", "a not between 1 and 2 and b=3"},
      {"tags contains (x) or tags contains y", "tags contains x or tags contains y"},
      {"tags contains (x,y) and tags not contains ()", "tags contains (x, y) and tags not contains ()"},
      {"in_stock and not sold", "in_stock=true and not sold=true"},
      {"True or FALSE", "true or false"},
      {"\"in\"=in and 'a b' in (or, IN, is, \"null\", 'true', true)",
       "\"in\"=\"in\" and \"a b\" in (\"or\", \"IN\", \"is\", \"null\", \"true\", true)"},
      {"a=x-1.y and \xc3\xbc=\xe6\xbc\xa2", "a=x-1.y and \xc3\xbc=\xe6\xbc\xa2"},
      {R"(a="\\\"\'\n\t\r\x41\xc3\xbc\u00fc\ud83c\udf4e")",
       "a=\"\\\\\\\"'\\n\\t\\rA\xc3\xbc\xc3\xbc\xf0\x9f\x8d\x8e\""},
      {R"(a='it''s')", ""},
      {R"(a="\x1b\u202e")", R"(a="\x1b\u202e")"},
      {"a in (1, -0, 1.0, 1e2, .5, -2.50, 9223372036854775807, -9223372036854775808)",
       "a in (1, 0, 1.0, 100.0, 0.5, -2.5, 9223372036854775807, -9223372036854775808)"},
      {"a in (-0.0, 1e300, 1E+2, 2e-7)", "a in (-0.0, 1e+300, 100.0, 2e-07)"},
  };
  for (const Form& form : forms) {
    SCOPED_TRACE(form.text);
    if (form.printed.empty()) {
      EXPECT_NE(parse_failure(form.text), "no failure");
      continue;
    }
    const Expression tree = parse_expression(form.text);
    EXPECT_EQ(print_expression(tree), form.printed);
    EXPECT_TRUE(same(parse_expression(form.printed), tree));
  }
}

TEST(FilterText, IsTheTreeThatItsWordsSay) {
  const Expression tree = parse_expression("a<1 or not b in (x, 2.5, true) and c is null");
  ASSERT_EQ(tree.kind, Expression::Kind::kOr);
  ASSERT_EQ(tree.operands.size(), 2u);
  EXPECT_EQ(tree.operands[0].term.column, "a");
  EXPECT_EQ(tree.operands[0].term.op, TermOp::kLess);
  const Expression& both = tree.operands[1];
  ASSERT_EQ(both.kind, Expression::Kind::kAnd);
  ASSERT_EQ(both.operands[0].kind, Expression::Kind::kNot);
  const Term& in = both.operands[0].operands.at(0).term;
  EXPECT_EQ(in.op, TermOp::kIn);
  ASSERT_EQ(in.values.size(), 3u);
  EXPECT_EQ(in.values[0].kind, Value::Kind::kText);
  EXPECT_EQ(in.values[1].number, 2.5);
  EXPECT_EQ(in.values[2].kind, Value::Kind::kBool);
  EXPECT_EQ(in.values[2].integer, 1);
  EXPECT_EQ(both.operands[1].term.op, TermOp::kIsNull);
  EXPECT_TRUE(both.operands[1].term.values.empty());
}

std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"a",
                                                  "Z",
                                                  "_",
                                                  "-",
                                                  ".",
                                                  "7",
                                                  " ",
                                                  "\"",
                                                  "'",
                                                  "\\",
                                                  "\n",
                                                  "\x01",
                                                  "in",
                                                  "true",
                                                  "NULL",
                                                  "\xc3\xa9",
                                                  "\xe2\x80\xae",
                                                  "\xc2\x85",
                                                  "\xf0\x9f\x8d\x8e",
                                                  "\x7f",
                                                  "(",
                                                  ","};
  std::string text;
  for (size_t i = random() % 5; i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

Value random_value(std::mt19937_64& random) {
  Value value;
  value.kind = static_cast<Value::Kind>(random() % 4);
  if (value.kind == Value::Kind::kInteger) value.integer = static_cast<int64_t>(random()) >> random() % 64;
  if (value.kind == Value::Kind::kBool) value.integer = static_cast<int64_t>(random() % 2);
  if (value.kind == Value::Kind::kText) value.text = random_text(random);
  while (value.kind == Value::Kind::kNumber) {  // of any bits
    value.number = random() % 4 == 0 ? static_cast<double>(static_cast<int64_t>(random()) >> random() % 64)
                                     : std::bit_cast<double>(random());
    if (std::isfinite(value.number)) break;
  }
  return value;
}

Expression random_tree(std::mt19937_64& random, int depth) {
  Expression expression;
  expression.kind = depth == 0 ? Expression::Kind::kTerm : static_cast<Expression::Kind>(random() % 4);
  if (expression.kind != Expression::Kind::kTerm) {
    const size_t operands = expression.kind == Expression::Kind::kNot ? 1 : random() % 4;
    for (size_t i = 0; i < operands; ++i) expression.operands.push_back(random_tree(random, depth - 1));
    return expression;
  }
  Term& term = expression.term;
  term.column = random_text(random);
  term.op = static_cast<TermOp>(1 + random() % 10);
  const size_t counts[] = {random() % 4, 2, random() % 4, 0};
  const size_t values = term.op < TermOp::kIn ? 1 : counts[static_cast<size_t>(term.op) - 7];
  for (size_t i = 0; i < values; ++i) term.values.push_back(random_value(random));
  return expression;
}

// An `and` or `or` of one is its operand.
Expression normal(const Expression& expression) {
  const bool joins = expression.kind == Expression::Kind::kAnd || expression.kind == Expression::Kind::kOr;
  if (joins && expression.operands.size() == 1) return normal(expression.operands[0]);
  Expression out = expression;
  for (Expression& operand : out.operands) operand = normal(operand);
  return out;
}

TEST(FilterText, OfAnyTreeIsReadAsThatTree) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    const Expression tree = random_tree(random, static_cast<int>(seed % 6));
    const std::string text = print_expression(tree);
    ASSERT_EQ(escaped(text), text) << "seed " << seed;
    const Expression read = parse_expression(text);
    ASSERT_TRUE(same(read, normal(tree))) << "seed " << seed << ": " << text;
    ASSERT_EQ(print_expression(read), text) << "seed " << seed;
  }
}

TEST(FilterText, NamesThePlaceOfAMistake) {
  struct Mistake {
    std::string text, message;  // after "filter: at byte "
  };
  const Mistake mistakes[] = {
      {"", "0 (after ``): expected a column, not, or `(`, found the end"},
      {"price<", "6 (after `price<`): expected a value, found the end"},
      {"price<20 adn in_stock", "9 (`adn in_stock`): expected and, or, or the end, found `adn`"},
      {"price lt 20",
       "6 (`lt 20`): expected an operator (= != < <= > >= in between contains is), and, or, or the end, found `lt`"},
      {"(a=1 b", "5 (`b`): expected and, or, or `)`, found `b`"},
      {"a=1)", "3 (`)`): expected and, or, or the end, found `)`"},
      {"a=1 and", "7 (after `a=1 and`): expected a column, not, or `(`, found the end"},
      {"and a=1", "0 (`and a=1`): expected a column (a keyword as its name needs quotes), found `and`"},
      {"a in us", "5 (`us`): expected `(` after in, found `us`"},
      {"a in (us ca)", "9 (`ca)`): expected `,` or `)`, found `ca`"},
      {"a in (us,)", "9 (`)`): expected a value, found `)`"},
      {"a between 1 or 2", "12 (`or 2`): expected and, with the upper bound, found `or`"},
      {"a is 5", "5 (`5`): expected null or not null, found `5`"},
      {"a is not", "8 (after `a is not`): expected null, found the end"},
      {"a not like b", "6 (`like b`): expected in, between or contains after not, found `like`"},
      {"a=null", "2 (`null`): expected a value (a column `is null`, and no value is), found `null`"},
      {"a=9223372036854775808",
       "2 (`9223372036854775808`): expected an integer of 64 bits, found `9223372036854775808`"},
      {"a=-9223372036854775809",
       "2 (`-9223372036854775809`): expected an integer of 64 bits, found `-9223372036854775809`"},
      {"a=1e999", "2 (`1e999`): expected a number that a double holds, found `1e999`"},
      {"a=2026-11-27",
       "2 (`2026-11-27`): expected a number (text that begins as numbers do needs quotes), found `2026-11-27`"},
      {"a=1st", "2 (`1st`): expected a number (text that begins as numbers do needs quotes), found `1st`"},
      {"a=-inf", "2 (`-inf`): expected a value, found `-`"},
      {"a=\"x", "2 (`\"x`): expected a closing quote, found none up to the end"},
      {"a=\"x\\", "4: expected \\\\, \\\", \\', \\n, \\t, \\r, \\xNN or \\uNNNN, found `\\`"},
      {"a=\"\\q\"", "3: expected \\\\, \\\", \\', \\n, \\t, \\r, \\xNN or \\uNNNN, found `\\q\"`"},
      {"a=\"\\x4\"", "3: expected two hexadecimal digits after \\x, found `\\x4\"`"},
      {"a=\"\\u12g4\"", "3: expected four hexadecimal digits after \\u, found `\\u12g4\"`"},
      {"a=\"\\ud800x\"", "3: expected two surrogates, high and low, found `\\ud800x\"`"},
      {"a=\"\\udc00\\ud800\"", "3: expected two surrogates, high and low, found `\\udc00\\ud800\"`"},
      {"a=\"\\xff\"", "2 (`\"\\xff\"`): expected text of UTF-8, found other bytes in it"},
      {"a=\"\xff\"", "2 (`\"\\xff\"`): expected text of UTF-8, found other bytes in it"},
      {"a=\"\\u0000\"", "2 (`\"\\u0000\"`): expected text without NUL, found one in it"},
      {"a=\x1b[31m", "2 (`\\x1b[31m`): expected a value, found `\\x1b`"},
      {"a=b\xe2\x80\xae", "3 (`\\xe2\\x80\\xae`): expected and, or, or the end, found `\\xe2\\x80\\xae`"},
      {"a=$", "2 (`$`): expected a value, found `$`"},
  };
  for (const Mistake& mistake : mistakes)
    EXPECT_EQ(parse_failure(mistake.text), "filter: at byte " + mistake.message) << mistake.text;
}

TEST(FilterText, IsBounded) {
  const std::string nest = repeated("(", kMostNesting), close = repeated(")", kMostNesting);
  EXPECT_EQ(parse_failure(nest + "a=1" + close), "no failure");
  EXPECT_EQ(parse_failure("(" + nest + "a=1" + close + ")"),
            "filter: at byte 200: expected at most 200 open parentheses and nots, found one more");
  for (const char* opening : {"(", "not ", "not(", "(not\n"})
    EXPECT_NE(parse_failure(repeated(opening, 10'000) + "a=1").find("found one more"), std::string::npos) << opening;
  // Side by side they are not nested.
  EXPECT_EQ(parse_failure(repeated("(not a=1) and ", kMostTerms - 1) + "a=1"), "no failure");
  EXPECT_EQ(parse_failure(repeated("a=1 and ", kMostTerms) + "true"),
            "filter: at byte 8192: expected at most 1024 terms, found one more");
  const std::string value(kMostFilterBytes - 4, 'x');
  EXPECT_EQ(parse_failure("a='" + value + "'"), "no failure");
  EXPECT_EQ(parse_failure("a='" + value + "' "), "filter: the text has 1048577 bytes, expected at most 1048576");
}

TEST(FilterText, OfTheDeepestTreeThatIsReadIsPrinted) {
  std::string text = "a=1 and b=2 or c=3";
  for (int i = 0; i < kMostNesting; ++i) text = "a=1 and (" + text + ") or c=3";
  const Expression tree = parse_expression("d=4 and " + text);
  EXPECT_EQ(print_expression(tree), "d=4 and " + text);
  Expression deeper;
  deeper.kind = Expression::Kind::kNot;
  deeper.operands = {tree};
  EXPECT_EQ(failure_of([&] { print_expression(deeper); }), "filter: expressions are nested more than 403 deep");
}

TEST(FilterText, IsNoneOfWhatNoTextHas) {
  Expression tree = parse_expression("a<1.5");
  const auto failure = [&] { return failure_of([&] { print_expression(tree); }); };
  Value& value = tree.term.values[0];
  value.number = std::numeric_limits<double>::infinity();
  EXPECT_EQ(failure(), "filter: no text has the number inf");
  value.number = std::nan("");
  EXPECT_EQ(failure(), "filter: column 'a': a value of < is NaN");
  value.kind = Value::Kind::kText;
  value.text = "\xff";
  EXPECT_EQ(failure(), "filter: the text '\\xff' is not UTF-8 without NUL");
  value.text = std::string("a\0b", 3);
  EXPECT_EQ(failure(), "filter: the text 'a\\x00b' is not UTF-8 without NUL");
  value.text = std::string(kMostFilterBytes, 'x');
  EXPECT_EQ(failure(), "filter: its text has 1048578 bytes, expected at most 1048576");
  value.kind = static_cast<Value::Kind>(9);
  EXPECT_EQ(failure(), "filter: column 'a': kind of value 9, expected 0..3");
  tree.term.column = "\xff";
  EXPECT_EQ(failure(), "filter: the column '\\xff' is not UTF-8 without NUL");
  tree = {};
  tree.kind = Expression::Kind::kNot;
  EXPECT_EQ(failure(), "filter: not has 0 operands, expected 1");
  // Parentheses that the tree needs, though it is not too deep.
  tree = parse_expression("a=1");
  for (int i = 0; i <= kMostNesting + 1; ++i) {
    Expression both;
    both.kind = Expression::Kind::kAnd;
    both.operands = {tree, tree.kind == Expression::Kind::kTerm ? tree : parse_expression("a=1")};
    tree = both;
  }
  EXPECT_EQ(failure(), "filter: its text has more than 200 open parentheses and nots");
}

TEST(Utf8, IsWhatItIs) {
  EXPECT_TRUE(is_utf8("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x8d\x8e"));
  EXPECT_TRUE(is_utf8(""));
  for (const char* text : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace sidbeam::testing
