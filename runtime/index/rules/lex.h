// The words of a filter's text. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "index/rules/expression.h"

namespace sidbeam {

struct Token {
  // kOther: a byte that begins nothing.
  enum class Kind : uint8_t { kEnd, kWord, kQuoted, kNumber, kCompare, kOpen, kClose, kComma, kOther };
  Kind kind = Kind::kEnd;
  size_t begin = 0, end = 0;   // bytes of the filter's text
  std::string text;            // of kWord, and what kQuoted stands for
  Value value;                 // of kNumber
  TermOp op = TermOp::kEqual;  // of kCompare
};

// The first token from byte `at` on.
Token read_token(std::string_view text, size_t at);

// Throws INVALID_ARGUMENT that names the place; `found` may be nullptr: what is there.
[[noreturn]] void fail_at(std::string_view text, size_t at, const char* expected, const char* found);
[[noreturn]] void fail_at(std::string_view text, const Token& token, const char* expected);

// Whether a token is a keyword, in any case.
bool is_keyword(const Token& token, std::string_view keyword);
// Whether a text means itself without quotes, wherever it stands.
bool is_bare(std::string_view text);

}  // namespace sidbeam
