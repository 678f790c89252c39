// Filters over columns, against their plain meaning row by row (../filter_rig.h).
// SPDX-License-Identifier: Apache-2.0
#include "index/rules/terms.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "../filter_rig.h"
#include "index/rules/parse.h"
#include "index/rules/print.h"
#include "support/error.h"

namespace sidbeam::testing {
namespace {

using filters::Cell;
using filters::Column;
using filters::Views;

Value random_value(AttributeType type, std::mt19937_64& random) {
  const auto pick = [&random](const auto& from) { return from[random() % from.size()]; };
  Value value;
  if (type == AttributeType::kBool) {
    value.kind = Value::Kind::kBool;
    value.integer = static_cast<int64_t>(random() % 2);
  } else if (type >= AttributeType::kString) {
    value.kind = Value::Kind::kText;
    value.text = random() % 8 == 0 ? "of no row" : pick(filters::texts());
  } else if (type == AttributeType::kF32 && random() % 4 != 0) {
    value.kind = Value::Kind::kNumber;
    value.number = pick(filters::numbers());
  } else {
    value.integer = random() % 8 == 0 ? static_cast<int64_t>(random()) : pick(filters::integers());
  }
  return value;
}

// One that fits its column.
Term random_term(const std::vector<Column>& columns, std::mt19937_64& random) {
  const Column& column = columns[random() % columns.size()];
  Term term;
  term.column = column.name;
  const bool is_list = column.type == AttributeType::kStringList;
  const int ops = column.type == AttributeType::kBool ? 2 : 8;
  term.op = is_list ? TermOp::kContains : static_cast<TermOp>(1 + random() % static_cast<uint64_t>(ops));
  if (random() % 8 == 0) term.op = TermOp::kIsNull;
  const bool many = term.op == TermOp::kIn || term.op == TermOp::kContains;
  const size_t values = many ? random() % 12 : term.op == TermOp::kIsNull ? 0 : term.op == TermOp::kBetween ? 2 : 1;
  for (size_t i = 0; i < values; ++i) term.values.push_back(random_value(column.type, random));
  return term;
}

Expression random_tree(const std::vector<Column>& columns, std::mt19937_64& random, int depth) {
  Expression expression;
  expression.kind = depth == 0 ? Expression::Kind::kTerm : static_cast<Expression::Kind>(random() % 4);
  if (expression.kind == Expression::Kind::kTerm) {
    expression.term = random_term(columns, random);
    return expression;
  }
  const size_t operands = expression.kind == Expression::Kind::kNot ? 1 : random() % 4;
  for (size_t i = 0; i < operands; ++i) expression.operands.push_back(random_tree(columns, random, depth - 1));
  return expression;
}

std::vector<size_t> rows_in(const RowBits& bits) {
  std::vector<size_t> rows;
  for (int64_t i = 0; i < bits.size() * 64; ++i)
    if ((bits[i / 64] >> i % 64 & 1) != 0) rows.push_back(static_cast<size_t>(i));
  return rows;
}

void expect_as_judged(const Expression& expression, const std::vector<Column>& columns, const Attributes& attributes,
                      int threads) {
  const size_t items = columns[0].cells.size();
  const RowBits bits = rows_of(expression, attributes, items, default_allocator(), threads);
  std::vector<size_t> expected;
  for (size_t row = 0; row < items; ++row)
    if (filters::passes(expression, columns, row)) expected.push_back(row);
  ASSERT_EQ(bits.size(), static_cast<int64_t>((items + 63) / 64 + 1));
  ASSERT_EQ(rows_in(bits), expected) << print_expression(expression);
}

TEST(Terms, AreWhatTheirWordsSay) {
  uint64_t seed = 1;
  for (const size_t items : std::initializer_list<size_t>{0, 1, 63, 64, 65, 500}) {
    const std::vector<Column> columns = filters::make_columns(items, ++seed);
    const Views views(columns);
    std::mt19937_64 random(seed);
    for (int i = 0; i < (SIDBEAM_SANITIZED ? 150 : 1500); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", filter " + std::to_string(i));
      expect_as_judged(random_tree(columns, random, i % 4), columns, views.attributes, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Terms, OfManyRowsAreTheSameOnThreads) {
  const uint64_t seed = 77;
  const std::vector<Column> columns =
      filters::make_columns(SIDBEAM_SANITIZED ? 70'000 : 140'000, seed);  // two blocks or three
  const Views views(columns);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", filter " + std::to_string(i));
    expect_as_judged(random_tree(columns, random, 2), columns, views.attributes, 1 + i % 3);
  }
}

// A text of few lists is looked for otherwise than one of many.
TEST(Terms, FewListsAreFoundAmongMany) {
  uint64_t seed = 30;
  for (const size_t items : std::initializer_list<size_t>{33, 63, 64, 65, 1000, 5000, 70000}) {
    std::vector<Column> columns = filters::make_columns(items, ++seed);
    std::mt19937_64 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (Column& column : columns) {
      if (column.type != AttributeType::kStringList) continue;
      for (size_t i = 0; i < 1 + items / 40; ++i) {
        std::vector<std::string>& texts = column.cells[random() % items].texts;
        texts.insert(texts.begin() + static_cast<int64_t>(random() % (texts.size() + 1)), "rare");
      }
      const Expression contains = parse_expression(std::string(column.name) + " contains rare");
      expect_as_judged(contains, columns, Views(columns).attributes, 1);
    }
  }
}

// Four rows: 1, 2, 3 and null.
struct Small {
  Small() : columns(make()), views(columns) {}
  static std::vector<Column> make() {
    std::vector<Column> columns(5);
    const char* names[] = {"n", "x", "flag", "word", "tags"};
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].name = names[c];
      columns[c].type = static_cast<AttributeType>(c + 1);
      for (int64_t i = 1; i <= 4; ++i) {
        Cell cell;
        cell.null = i == 4;
        cell.integer = i;
        cell.number = 0.1F * static_cast<float>(i);
        cell.flag = i == 2;
        cell.texts = {std::string(1, static_cast<char>('a' + i))};
        columns[c].cells.push_back(cell);
      }
    }
    return columns;
  }
  std::vector<size_t> rows(const std::string& text) const {
    return rows_in(rows_of(parse_expression(text), views.attributes, 4, default_allocator()));
  }
  std::string failure(const Expression& expression) const {
    try {
      rows_of(expression, views.attributes, 4, default_allocator());
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
      return failure.message;
    }
    return "no failure";
  }
  std::string failure(const std::string& text) const { return failure(parse_expression(text)); }

  std::vector<Column> columns;
  Views views;
};

using Rows = std::vector<size_t>;

TEST(Terms, NullFailsEveryTermAndPassesItsContrary) {
  const Small small;
  for (const std::string column : {"n", "x", "flag", "word", "tags"}) {
    EXPECT_EQ(small.rows(column + " is null"), (Rows{3}));
    EXPECT_EQ(small.rows(column + " is not null"), (Rows{0, 1, 2}));
  }
  EXPECT_EQ(small.rows("n!=2"), (Rows{0, 2}));
  EXPECT_EQ(small.rows("not n=2"), (Rows{0, 2, 3}));
  EXPECT_EQ(small.rows("n not in (2)"), (Rows{0, 2, 3}));
  EXPECT_EQ(small.rows("word!=c"), (Rows{0, 2}));
  EXPECT_EQ(small.rows("flag"), (Rows{1}));
  EXPECT_EQ(small.rows("flag=false"), (Rows{0, 2}));
  EXPECT_EQ(small.rows("not flag"), (Rows{0, 2, 3}));
  EXPECT_EQ(small.rows("n in () or word in () or tags contains ()"), Rows{});
  EXPECT_EQ(small.rows("true"), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(small.rows("false"), Rows{});
}

TEST(Terms, NumbersAreRoundedAsTheirColumnWas) {
  const Small small;
  EXPECT_EQ(small.rows("x<=0.1"), (Rows{0}));  // 0.1F > 0.1
  EXPECT_EQ(small.rows("x=0.1"), (Rows{0}));
  EXPECT_EQ(small.rows("x>0.1"), (Rows{1, 2}));
  EXPECT_EQ(small.rows("x<1e300"), (Rows{0, 1, 2}));
  EXPECT_EQ(small.rows("x>-1e300 and x<1"), (Rows{0, 1, 2}));
  EXPECT_EQ(small.rows("x>=1e300"), Rows{});
  EXPECT_EQ(small.rows("n<2e0"), (Rows{0}));
}

TEST(Terms, WhatDoesNotFitItsColumnIsRefused) {
  const Small small;
  EXPECT_EQ(small.failure("prise<20"),
            "filter: column 'prise' is not there, expected one of 'n', 'x', 'flag', 'word', 'tags'");
  EXPECT_EQ(small.failure("n<0.5"),
            "filter: column 'n' holds integers, expected an integer after <, found the number 0.5");
  EXPECT_EQ(small.failure("n<1e19"),
            "filter: column 'n' holds integers, expected an integer after <, found the number 1e+19");
  EXPECT_EQ(small.failure("n"), "filter: column 'n' holds integers, expected an integer after =, found true");
  EXPECT_EQ(small.failure("n in (1, two)"),
            "filter: column 'n' holds integers, expected an integer after in, found the text 'two'");
  EXPECT_EQ(small.failure("n contains 1"),
            "filter: column 'n' holds integers, expected a comparison, in, between or is null, found contains");
  EXPECT_EQ(small.failure("x=nan"),
            "filter: column 'x' holds numbers, expected a number after =, found the text 'nan'");
  EXPECT_EQ(small.failure("x between 1 and false"),
            "filter: column 'x' holds numbers, expected a number after between, found false");
  EXPECT_EQ(small.failure("flag<true"), "filter: column 'flag' holds bools, expected =, != or is null, found <");
  EXPECT_EQ(small.failure("flag=1"), "filter: column 'flag' holds bools, expected true or false after =, found 1");
  EXPECT_EQ(small.failure("word=7"), "filter: column 'word' holds strings, expected text after =, found 7");
  EXPECT_EQ(small.failure("word in (a, true)"),
            "filter: column 'word' holds strings, expected text after in, found true");
  EXPECT_EQ(small.failure("tags=a"),
            "filter: column 'tags' holds lists of strings, expected contains or is null, found =");
  EXPECT_EQ(small.failure("tags contains (a, 2)"),
            "filter: column 'tags' holds lists of strings, expected text after contains, found 2");
  const std::string name = std::string(59, 'y') + "\xc3\xbc\xc3\xbc";  // cut between characters
  EXPECT_EQ(small.failure(name + "=1"), "filter: column '" + std::string(59, 'y') +
                                            "\xc3\xbc' is not there, expected one of 'n', 'x', 'flag', 'word', 'tags'");
  Expression term = parse_expression("x<1.5");
  term.term.values[0].number = std::nan("");
  EXPECT_EQ(small.failure(term), "filter: column 'x': a value of < is NaN");
  term.term.values.clear();
  EXPECT_EQ(small.failure(term), "filter: column 'x': < has 0 values, expected 1");
  term.term.op = static_cast<TermOp>(11);
  EXPECT_EQ(small.failure(term), "filter: column 'x': operator 11, expected 1..10");
}

TEST(Terms, AnUnknownColumnIsToldWhichThereAre) {
  const auto failure = [](const Attributes& attributes) -> std::string {
    try {
      rows_of(parse_expression("a=1"), attributes, 4, default_allocator());
    } catch (const Failure& thrown) {
      return thrown.message;
    }
    return "no failure";
  };
  EXPECT_EQ(failure({}), "filter: column 'a' is not there, expected none, since the index has no attributes");
  Attributes many(6);
  for (Attribute& attribute : many) attribute.name = "b\n";
  EXPECT_EQ(failure(many),
            "filter: column 'a' is not there, expected one of 'b\\x0a', 'b\\x0a', 'b\\x0a', 'b\\x0a', 'b\\x0a' and "
            "others, 6 in all");
}

TEST(Terms, TreesAreBounded) {
  const Small small;
  Expression deep = parse_expression("n=1");
  for (int i = 1; i < kMostDepth; ++i) {
    Expression next;
    next.kind = Expression::Kind::kNot;
    next.operands.push_back(std::move(deep));
    deep = std::move(next);
  }
  EXPECT_EQ(small.failure(deep), "no failure");
  Expression deeper;
  deeper.kind = Expression::Kind::kNot;
  deeper.operands.push_back(deep);
  EXPECT_EQ(small.failure(deeper), "filter: expressions are nested more than 403 deep");
  Expression wide;
  wide.kind = Expression::Kind::kOr;
  wide.operands.resize(kMostTerms, parse_expression("n=1"));
  EXPECT_EQ(small.failure(wide), "no failure");
  wide.operands.push_back(parse_expression("true"));
  EXPECT_EQ(small.failure(wide), "filter: more than 1024 terms");
}

// What an unverified file may have: nothing is read outside the arrays, which are blocks of their own.
TEST(Terms, DamagedColumnsAreReadWithinTheirArrays) {
  const size_t items = 300;
  const Views views(filters::make_columns(items, 5));
  std::mt19937_64 random(5);
  for (const Attribute& sound : views.attributes) {
    if (sound.type < AttributeType::kString) continue;
    for (int round = 0; round < 50; ++round) {
      Attributes damaged = {sound};
      const uint64_t count = sound.type == AttributeType::kString ? items : sound.code_count;
      std::vector<uint64_t> codes(count), offsets(items + 1), places(sound.dictionary.count + 1);
      for (uint64_t& code : codes) code = random() >> random() % 64;
      for (uint64_t& offset : offsets) offset = random() >> random() % 64;
      for (uint64_t& place : places) place = random() >> random() % 64;
      damaged[0].codes = {codes.data(), 8};
      damaged[0].offsets = {offsets.data(), 8};
      damaged[0].dictionary.offsets = places.data();
      for (const char* op : {" in (a, b, ca)", "!=b", "<b", " between a and z", " contains (a, b)"}) {
        const bool contains = std::string(op).find("contains") != std::string::npos;
        if (contains != (sound.type == AttributeType::kStringList)) continue;
        const RowBits bits =
            rows_of(parse_expression(std::string(sound.name) + op), damaged, items, default_allocator());
        EXPECT_EQ(bits[4] >> (items - 256), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
