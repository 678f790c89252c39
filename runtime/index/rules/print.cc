// SPDX-License-Identifier: Apache-2.0
#include "index/rules/print.h"

#include <charconv>
#include <cmath>

#include "index/rules/lex.h"
#include "index/rules/parse.h"
#include "support/error.h"
#include "support/escape.h"
#include "support/utf8.h"

namespace sidbeam {
namespace {

using Op = Expression::Kind;

void append_escape(char letter, uint32_t code, int digits, std::string& out) {
  out += '\\';
  out += letter;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[code >> shift & 15];
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    if (bytes == "\"" || bytes == "\\")
      (out += '\\') += bytes;
    else if (bytes == "\n")
      out += "\\n";
    else if (bytes == "\t")
      out += "\\t";
    else if (bytes == "\r")
      out += "\\r";
    else if (escaped(bytes) == bytes)
      out += bytes;
    else if (character.code < 0x80)
      append_escape('x', character.code, 2, out);
    else
      append_escape('u', character.code, 4, out);  // of four digits: what a terminal obeys lies below U+10000
  }
  out += '"';
}

void append_text(std::string_view text, std::string& out) {
  if (is_bare(text))
    out += text;
  else
    append_quoted(text, out);
}

void append_number(double number, std::string& out) {
  if (!std::isfinite(number)) fail(SIDBEAM_INVALID_ARGUMENT, "filter: no text has the number %g", number);
  char digits[32];
  const std::string_view shortest(
      digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
  out += shortest;
  if (shortest.find_first_of(".e") == shortest.npos) out += ".0";  // or it would be an integer
}

void append_value(const Value& value, std::string& out) {
  if (value.kind == Value::Kind::kText)
    append_text(value.text, out);
  else if (value.kind == Value::Kind::kNumber)
    append_number(value.number, out);
  else if (value.kind == Value::Kind::kBool)
    out += value.integer != 0 ? "true" : "false";
  else
    out += std::to_string(value.integer);
}

void append_values(const Term& term, std::string& out) {
  const bool list = term.op == TermOp::kIn || (term.op == TermOp::kContains && term.values.size() != 1);
  if (list) out += '(';
  for (size_t i = 0; i < term.values.size(); ++i) {
    if (i > 0) out += term.op == TermOp::kBetween ? " and " : ", ";
    append_value(term.values[i], out);
  }
  if (list) out += ')';
}

bool has_word_operator(const Term& term) { return term.op >= TermOp::kIn; }

void append_term(const Term& term, bool negated, std::string& out) {
  append_text(term.column, out);
  if (!has_word_operator(term)) {
    out += term_op_name(term.op);
  } else if (term.op == TermOp::kIsNull) {
    out += negated ? " is not null" : " is null";
  } else {
    ((out += negated ? " not " : " ") += term_op_name(term.op)) += ' ';
  }
  append_values(term, out);
}

// Without those of one operand.
const Expression& inner(const Expression& expression) {
  const Expression* at = &expression;
  while ((at->kind == Op::kAnd || at->kind == Op::kOr) && at->operands.size() == 1) at = at->operands.data();
  return *at;
}

// Whether it is written with `and` or `or` between.
bool is_joined(const Expression& expression) {
  return (expression.kind == Op::kAnd || expression.kind == Op::kOr) && !expression.operands.empty();
}

struct Printer {
  std::string out;
  int nesting = 0;
};

void open(Printer& printer, const char* text) {
  if (++printer.nesting > kMostNesting)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: its text has more than %d open parentheses and nots", kMostNesting);
  printer.out += text;
}

void append(const Expression& whole, Printer& printer);

void append_in_parentheses(const Expression& expression, bool needed, Printer& printer) {
  if (!needed) return append(expression, printer);
  open(printer, "(");
  append(expression, printer);
  printer.out += ')';
  --printer.nesting;
}

void append_negation(const Expression& operand, Printer& printer) {
  if (operand.kind == Op::kTerm && has_word_operator(operand.term)) return append_term(operand.term, true, printer.out);
  open(printer, "not ");
  append_in_parentheses(operand, is_joined(operand), printer);
  --printer.nesting;
}

void append(const Expression& whole, Printer& printer) {
  const Expression& expression = inner(whole);
  if (expression.kind == Op::kTerm) return append_term(expression.term, false, printer.out);
  if (expression.kind == Op::kNot) return append_negation(inner(expression.operands[0]), printer);
  const bool is_and = expression.kind == Op::kAnd;
  if (expression.operands.empty()) printer.out += is_and ? "true" : "false";
  for (size_t i = 0; i < expression.operands.size(); ++i) {
    if (i > 0) printer.out += is_and ? " and " : " or ";
    const Expression& operand = inner(expression.operands[i]);
    // An `and` binds more closely than the `or` around it.
    append_in_parentheses(operand, is_joined(operand) && (is_and || operand.kind == Op::kOr), printer);
  }
}

}  // namespace

std::string print_expression(const Expression& expression) {
  check_expression(expression);
  Printer printer;
  append(expression, printer);
  if (printer.out.size() > kMostFilterBytes)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: its text has %zu bytes, expected at most %zu", printer.out.size(),
         kMostFilterBytes);
  return std::move(printer.out);
}

}  // namespace sidbeam
