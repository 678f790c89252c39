// SPDX-License-Identifier: Apache-2.0
#include "index/rules/parse.h"

#include <utility>

#include "index/rules/lex.h"
#include "support/error.h"
#include "support/float_mode.h"

namespace sidbeam {
namespace {

using Kind = Token::Kind;

struct Parser {
  std::string_view text;
  Token token;  // not taken yet
  int nesting = 0, terms = 0;
  size_t after_column = ~size_t{0};  // where the token is that follows a column which stands alone
};

void take(Parser& parser) { parser.token = read_token(parser.text, parser.token.end); }

bool take_if(Parser& parser, Kind kind) {
  const bool is_it = parser.token.kind == kind;
  if (is_it) take(parser);
  return is_it;
}

bool take_keyword(Parser& parser, std::string_view keyword) {
  const bool is_it = is_keyword(parser.token, keyword);
  if (is_it) take(parser);
  return is_it;
}

[[noreturn]] void fail_here(const Parser& parser, const char* expected) {
  fail_at(parser.text, parser.token, expected);
}

// After a whole filter: what might go on with it, or `end`.
[[noreturn]] void fail_after(const Parser& parser, const char* end) {
  const bool column = parser.token.begin == parser.after_column;
  fail_here(parser,
            (std::string(column ? "an operator (= != < <= > >= in between contains is), " : "") + "and, or, or " + end)
                .c_str());
}

void count_term(Parser& parser) {
  if (++parser.terms > kMostTerms)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: at byte %zu: expected at most %d terms, found one more", parser.token.begin,
         kMostTerms);
}

// Counts a parenthesis or a `not`, the token, as long as it is open.
struct Nested {
  explicit Nested(Parser& of) : parser(of) {
    if (++parser.nesting > kMostNesting)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "filter: at byte %zu: expected at most %d open parentheses and nots, found one more", parser.token.begin,
           kMostNesting);
    take(parser);
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --parser.nesting; }

  Parser& parser;
};

Value take_value(Parser& parser) {
  Value value;
  const bool is_true = is_keyword(parser.token, "true");
  if (is_true || is_keyword(parser.token, "false")) {
    value.kind = Value::Kind::kBool;
    value.integer = is_true ? 1 : 0;
  } else if (is_keyword(parser.token, "null")) {
    fail_here(parser, "a value (a column `is null`, and no value is)");
  } else if (parser.token.kind == Kind::kWord || parser.token.kind == Kind::kQuoted) {
    value.kind = Value::Kind::kText;
    value.text = std::move(parser.token.text);
  } else if (parser.token.kind == Kind::kNumber) {
    value = parser.token.value;
  } else {
    fail_here(parser, "a value");
  }
  take(parser);
  return value;
}

// After the parenthesis.
void take_list(Parser& parser, Term& term) {
  if (take_if(parser, Kind::kClose)) return;
  do {
    term.values.push_back(take_value(parser));
  } while (take_if(parser, Kind::kComma));
  if (!take_if(parser, Kind::kClose)) fail_here(parser, "`,` or `)`");
}

// What `not` may stand before, too. Returns whether it was there.
bool take_word_operator(Parser& parser, Term& term) {
  if (take_keyword(parser, "in")) {
    term.op = TermOp::kIn;
    if (!take_if(parser, Kind::kOpen)) fail_here(parser, "`(` after in");
    take_list(parser, term);
  } else if (take_keyword(parser, "between")) {
    term.op = TermOp::kBetween;
    term.values.push_back(take_value(parser));
    if (!take_keyword(parser, "and")) fail_here(parser, "and, with the upper bound");
    term.values.push_back(take_value(parser));
  } else if (take_keyword(parser, "contains")) {
    term.op = TermOp::kContains;
    if (take_if(parser, Kind::kOpen))
      take_list(parser, term);
    else
      term.values.push_back(take_value(parser));
  } else {
    return false;
  }
  return true;
}

// Returns whether the term is negated.
bool take_operator(Parser& parser, Term& term) {
  if (parser.token.kind == Kind::kCompare) {
    term.op = parser.token.op;
    take(parser);
    term.values.push_back(take_value(parser));
    return false;
  }
  if (take_word_operator(parser, term)) return false;
  if (take_keyword(parser, "not")) {
    if (!take_word_operator(parser, term)) fail_here(parser, "in, between or contains after not");
    return true;
  }
  if (take_keyword(parser, "is")) {
    const bool negated = take_keyword(parser, "not");
    if (!take_keyword(parser, "null")) fail_here(parser, negated ? "null" : "null or not null");
    term.op = TermOp::kIsNull;
    return negated;
  }
  Value yes;
  yes.kind = Value::Kind::kBool;
  yes.integer = 1;
  term.values.push_back(yes);
  parser.after_column = parser.token.begin;
  return false;
}

Expression negation(Expression operand) {
  Expression expression;
  expression.kind = Expression::Kind::kNot;
  expression.operands.push_back(std::move(operand));
  return expression;
}

Expression take_term(Parser& parser) {
  for (const std::string_view keyword : {"and", "or", "in", "between", "contains", "is", "null"})
    if (is_keyword(parser.token, keyword)) fail_here(parser, "a column (a keyword as its name needs quotes)");
  if (parser.token.kind != Kind::kWord && parser.token.kind != Kind::kQuoted)
    fail_here(parser, "a column, not, or `(`");
  count_term(parser);
  Expression expression;
  expression.term.column = std::move(parser.token.text);
  take(parser);
  const bool negated = take_operator(parser, expression.term);
  return negated ? negation(std::move(expression)) : expression;
}

Expression take_any(Parser& parser);

Expression take_single(Parser& parser) {
  if (is_keyword(parser.token, "not")) {
    const Nested nested(parser);
    return negation(take_single(parser));
  }
  if (parser.token.kind == Kind::kOpen) {
    const Nested nested(parser);
    Expression expression = take_any(parser);
    if (!take_if(parser, Kind::kClose)) fail_after(parser, "`)`");
    return expression;
  }
  const bool is_true = is_keyword(parser.token, "true");
  if (!is_true && !is_keyword(parser.token, "false")) return take_term(parser);
  count_term(parser);
  take(parser);
  Expression expression;
  expression.kind = is_true ? Expression::Kind::kAnd : Expression::Kind::kOr;
  return expression;
}

// One operand, or several between the keyword.
Expression take_joined(Parser& parser, Expression::Kind kind, std::string_view keyword,
                       Expression (*take_operand)(Parser&)) {
  Expression first = take_operand(parser);
  if (!is_keyword(parser.token, keyword)) return first;
  Expression joined;
  joined.kind = kind;
  joined.operands.push_back(std::move(first));
  while (take_keyword(parser, keyword)) joined.operands.push_back(take_operand(parser));
  return joined;
}

Expression take_all(Parser& parser) { return take_joined(parser, Expression::Kind::kAnd, "and", take_single); }
Expression take_any(Parser& parser) { return take_joined(parser, Expression::Kind::kOr, "or", take_all); }

}  // namespace

Expression parse_expression(std::string_view text) {
  if (text.size() > kMostFilterBytes)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: the text has %zu bytes, expected at most %zu", text.size(),
         kMostFilterBytes);
  const DefaultFloatMode mode;  // of the host's, decimals would round another way
  Parser parser;
  parser.text = text;
  take(parser);
  Expression expression = take_any(parser);
  if (parser.token.kind != Kind::kEnd) fail_after(parser, "the end");
  return expression;
}

}  // namespace sidbeam
