// SPDX-License-Identifier: Apache-2.0
#include "index/rules/lex.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "support/error.h"
#include "support/escape.h"
#include "support/utf8.h"

namespace sidbeam {
namespace {

constexpr std::string_view kKeywords[] = {"and",      "or", "not",  "in",   "between",
                                          "contains", "is", "null", "true", "false"};

// Only of ASCII: what they mean must not depend on the host's locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool same_word(std::string_view word, std::string_view keyword) {
  if (word.size() != keyword.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (lower(word[i]) != keyword[i]) return false;
  return true;
}

// Bytes of the character of a word at the front of `text`, which is not empty; 0: none may be in a word. What a
// terminal would obey needs quotes.
size_t word_character(std::string_view text, bool first) {
  const char c = text[0];
  if (is_letter(c)) return 1;
  if (static_cast<unsigned char>(c) < 0x80) return !first && (is_digit(c) || c == '-' || c == '.') ? 1 : 0;
  const std::string_view character = text.substr(0, first_character(text).bytes);
  return escaped(character) == character ? character.size() : 0;
}

size_t word_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const size_t bytes = word_character(text.substr(at), false);
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

// All that is glued to a number, so that "1st" is no number and a word.
size_t number_end(std::string_view text, size_t at) {
  for (;;) {
    at = word_end(text, at);
    const bool signed_exponent = at < text.size() && text[at] == '+' && lower(text[at - 1]) == 'e';
    if (!signed_exponent) return at;
    ++at;
  }
}

void read_number(std::string_view text, Token& token) {
  token.kind = Token::Kind::kNumber;
  token.end = number_end(text, token.begin + 1);
  const char *begin = text.data() + token.begin, *end = text.data() + token.end;
  const auto whole = std::from_chars(begin, end, token.value.integer);
  if (whole.ptr == end && whole.ec == std::errc()) return;
  if (whole.ptr == end) fail_at(text, token, "an integer of 64 bits");
  token.value = {};
  token.value.kind = Value::Kind::kNumber;
  const auto number = std::from_chars(begin, end, token.value.number);
  if (number.ptr != end) fail_at(text, token, "a number (text that begins as numbers do needs quotes)");
  if (number.ec != std::errc()) fail_at(text, token, "a number that a double holds");
}

// The four hexadecimal digits, or two, of an escape; -1 where there are none.
int32_t read_hex(std::string_view text, size_t at, int digits) {
  int32_t value = 0;
  for (int i = 0; i < digits; ++i, ++at) {
    const char c = at < text.size() ? lower(text[at]) : '\0';
    if (!is_digit(c) && !(c >= 'a' && c <= 'f')) return -1;
    value = value << 4 | (is_digit(c) ? c - '0' : c - 'a' + 10);
  }
  return value;
}

void append_utf8(uint32_t code, std::string& out) {
  const auto byte = [&out](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

// Appends the character of \uNNNN at `at`, or of two of them where they are a surrogate pair; returns what follows.
size_t read_unicode(std::string_view text, size_t at, std::string& out) {
  const int32_t unit = read_hex(text, at + 2, 4);
  if (unit < 0) fail_at(text, at, "four hexadecimal digits after \\u", nullptr);
  auto code = static_cast<uint32_t>(unit);
  size_t end = at + 6;
  if (code >= 0xD800 && code < 0xE000) {
    const int32_t low = text.substr(end, 2) == "\\u" ? read_hex(text, end + 2, 4) : -1;
    if (code >= 0xDC00 || low < 0xDC00 || low >= 0xE000) fail_at(text, at, "two surrogates, high and low", nullptr);
    code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<uint32_t>(low) - 0xDC00);
    end += 6;
  }
  append_utf8(code, out);
  return end;
}

// Appends what the backslash at `at` and what follows it stand for.
size_t read_escape(std::string_view text, size_t at, std::string& out) {
  static constexpr char kFrom[] = "\\\"'ntr", kTo[] = "\\\"'\n\t\r";
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == 'u') return read_unicode(text, at, out);
  if (c == 'x') {
    const int32_t byte = read_hex(text, at + 2, 2);
    if (byte < 0) fail_at(text, at, "two hexadecimal digits after \\x", nullptr);
    out.push_back(static_cast<char>(byte));
    return at + 4;
  }
  const char* known = c == '\0' ? nullptr : std::strchr(kFrom, c);
  if (known == nullptr) fail_at(text, at, "\\\\, \\\", \\', \\n, \\t, \\r, \\xNN or \\uNNNN", nullptr);
  out.push_back(kTo[known - kFrom]);
  return at + 2;
}

void read_quoted(std::string_view text, Token& token) {
  const char quote = text[token.begin];
  token.kind = Token::Kind::kQuoted;
  size_t at = token.begin + 1;
  while (at < text.size() && text[at] != quote) {
    if (text[at] == '\\')
      at = read_escape(text, at, token.text);
    else
      token.text.push_back(text[at++]);
  }
  if (at >= text.size()) fail_at(text, token.begin, "a closing quote", "none up to the end");
  token.end = at + 1;
  if (token.text.find('\0') != token.text.npos) fail_at(text, token.begin, "text without NUL", "one in it");
  if (!is_utf8(token.text)) fail_at(text, token.begin, "text of UTF-8", "other bytes in it");
}

void read_symbol(std::string_view text, Token& token) {
  struct Symbol {
    std::string_view text;
    Token::Kind kind;
    TermOp op;
  };
  using Kind = Token::Kind;
  static constexpr Symbol kSymbols[] = {
      // longer ones first
      {"==", Kind::kCompare, TermOp::kEqual},    {"!=", Kind::kCompare, TermOp::kNotEqual},
      {"<>", Kind::kCompare, TermOp::kNotEqual}, {"<=", Kind::kCompare, TermOp::kAtMost},
      {">=", Kind::kCompare, TermOp::kAtLeast},  {"=", Kind::kCompare, TermOp::kEqual},
      {"<", Kind::kCompare, TermOp::kLess},      {">", Kind::kCompare, TermOp::kGreater},
      {"(", Kind::kOpen, TermOp::kEqual},        {")", Kind::kClose, TermOp::kEqual},
      {",", Kind::kComma, TermOp::kEqual}};
  token.kind = Kind::kOther;
  token.end = token.begin + first_character(text.substr(token.begin)).bytes;
  for (const Symbol& symbol : kSymbols) {
    if (text.substr(token.begin, symbol.text.size()) != symbol.text) continue;
    token.kind = symbol.kind;
    token.op = symbol.op;
    token.end = token.begin + symbol.text.size();
    return;
  }
}

}  // namespace

Token read_token(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  Token token;
  token.begin = token.end = at;
  if (at == text.size()) return token;
  const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == '"' || c == '\'') {
    read_quoted(text, token);
  } else if (is_digit(c) || ((c == '-' || c == '.') && (is_digit(next) || next == '.'))) {
    read_number(text, token);
  } else if (word_character(text.substr(at), true) > 0) {
    token.kind = Token::Kind::kWord;
    token.end = word_end(text, at);
    token.text = text.substr(at, token.end - at);
  } else {
    read_symbol(text, token);
  }
  return token;
}

void fail_at(std::string_view text, size_t at, const char* expected, const char* found) {
  char shown[40];
  const bool at_end = at >= text.size();
  // Of the end, what is before it: from the first byte of a character on.
  size_t begin = at;
  if (at_end) {
    begin = text.size() < sizeof shown ? 0 : text.size() - sizeof shown + 1;
    while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;
  }
  escape_into(text.substr(begin), shown, sizeof shown);
  if (found != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "filter: at byte %zu (%s`%s`): expected %s, found %s", at, at_end ? "after " : "",
         shown, expected, found);
  fail(SIDBEAM_INVALID_ARGUMENT, "filter: at byte %zu: expected %s, found `%s`", at, expected, shown);
}

void fail_at(std::string_view text, const Token& token, const char* expected) {
  if (token.kind == Token::Kind::kEnd) fail_at(text, token.begin, expected, "the end");
  char shown[40], found[sizeof shown + 2];
  escape_into(text.substr(token.begin, token.end - token.begin), shown, sizeof shown);
  std::snprintf(found, sizeof found, "`%s`", shown);
  fail_at(text, token.begin, expected, found);
}

bool is_keyword(const Token& token, std::string_view keyword) {
  return token.kind == Token::Kind::kWord && same_word(token.text, keyword);
}

bool is_bare(std::string_view text) {
  if (text.empty() || word_character(text, true) == 0 || word_end(text, 0) != text.size()) return false;
  for (const std::string_view keyword : kKeywords)
    if (same_word(text, keyword)) return false;
  return true;
}

}  // namespace sidbeam
