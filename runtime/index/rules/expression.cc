// SPDX-License-Identifier: Apache-2.0
#include "index/rules/expression.h"

#include <cmath>
#include <cstdio>

#include "support/error.h"
#include "support/escape.h"
#include "support/utf8.h"

namespace sidbeam {
namespace {

void check_text(const char* what, const std::string& text) {
  if (text.find('\0') != text.npos || !is_utf8(text))
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: %s %s is not UTF-8 without NUL", what, Quoted(text).text);
}

void check_value(const Term& term, const Value& value) {
  const Quoted column(term.column);
  switch (value.kind) {
    case Value::Kind::kInteger:
      return;
    case Value::Kind::kNumber:
      if (std::isnan(value.number))
        fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s: a value of %s is NaN", column.text, term_op_name(term.op));
      return;
    case Value::Kind::kBool:
      if (value.integer != 0 && value.integer != 1)
        fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s: a bool is %lld, expected 0 or 1", column.text,
             static_cast<long long>(value.integer));
      return;
    case Value::Kind::kText:
      return check_text("the text", value.text);
  }
  fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s: kind of value %d, expected 0..3", column.text,
       static_cast<int>(value.kind));
}

void check_term(const Term& term) {
  check_text("the column", term.column);
  const Quoted column(term.column);
  if (term.op < TermOp::kEqual || term.op > TermOp::kIsNull)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s: operator %d, expected %d..%d", column.text,
         static_cast<int>(term.op), static_cast<int>(TermOp::kEqual), static_cast<int>(TermOp::kIsNull));
  if (term.op != TermOp::kIn && term.op != TermOp::kContains) {
    const size_t expected = term.op == TermOp::kIsNull ? 0 : term.op == TermOp::kBetween ? 2 : 1;
    if (term.values.size() != expected)
      fail(SIDBEAM_INVALID_ARGUMENT, "filter: column %s: %s has %zu values, expected %zu", column.text,
           term_op_name(term.op), term.values.size(), expected);
  }
  for (const Value& value : term.values) check_value(term, value);
}

void check_part(const Expression& part, int depth, int& terms) {
  if (depth > kMostDepth)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: expressions are nested more than %d deep", kMostDepth);
  if (part.kind > Expression::Kind::kNot)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: kind of expression %d, expected 0..3", static_cast<int>(part.kind));
  const bool is_term = part.kind == Expression::Kind::kTerm;
  // An empty list is counted too, so that the size of a tree is bounded.
  if ((is_term || part.operands.empty()) && ++terms > kMostTerms)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: more than %d terms", kMostTerms);
  if (is_term) return check_term(part.term);
  if (part.kind == Expression::Kind::kNot && part.operands.size() != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: not has %zu operands, expected 1", part.operands.size());
  for (const Expression& operand : part.operands) check_part(operand, depth + 1, terms);
}

}  // namespace

const char* term_op_name(TermOp op) {
  static constexpr const char* kNames[] = {"=", "!=", "<", "<=", ">", ">=", "in", "between", "contains", "is null"};
  return kNames[static_cast<size_t>(op) - 1];
}

void check_expression(const Expression& expression) {
  int terms = 0;
  check_part(expression, 1, terms);
}

Quoted::Quoted(std::string_view name) {
  char shown[sizeof text - 2];
  escape_into(name, shown, sizeof shown);
  std::snprintf(text, sizeof text, "'%s'", shown);
}

}  // namespace sidbeam
