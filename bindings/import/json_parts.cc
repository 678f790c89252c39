// SPDX-License-Identifier: Apache-2.0
#include "json_parts.h"

#include <algorithm>

namespace importer {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// std::count sums in 64 bits, which takes the compiler's vectors several times as long.
int64_t count_lines(const char* at, const char* end) {
  int64_t lines = 0;
  while (at < end) {
    const ptrdiff_t bytes = std::min<ptrdiff_t>(end - at, 255);
    uint8_t some = 0;
    for (ptrdiff_t i = 0; i < bytes; ++i) some = static_cast<uint8_t>(some + (at[i] == '\n' ? 1 : 0));
    lines += some;
    at += bytes;
  }
  return lines;
}

}  // namespace

JsonParts::JsonParts(const InputFile& file) : text_(file), counted_(text_.window().data()) {
  opening_ = peek();
  if (opening_ >= 0) skip(1);
}

int64_t JsonParts::line() const { return line_ + count_lines(counted_, text_.window().data()); }

// Lines are counted a window at a time, before what they are in is overwritten.
bool JsonParts::grow() {
  line_ = line();
  const bool grown = text_.extend();
  counted_ = text_.window().data();
  return grown;
}

// The next character that is no space, which is where the window begins then; -1 at the end of the file.
int JsonParts::peek() {
  for (;; skip(1)) {
    if (text_.window().empty() && !grow()) return -1;
    const char next = text_.window()[0];
    if (!is_space(next)) return static_cast<unsigned char>(next);
  }
}

simdjson::error_code JsonParts::advance(bool* more) {
  int next = peek();
  *more = !closed_ && next != closing();
  if (!*more) {
    if (!closed_) skip(1);
    closed_ = true;
    return peek() < 0 ? simdjson::SUCCESS : simdjson::TRAILING_CONTENT;
  }
  if (!first_) {
    if (next >= 0 && next != ',') return simdjson::TAPE_ERROR;
    if (next == ',') skip(1);
    next = peek();
  }
  first_ = false;
  if (next < 0) return simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
  return next == ',' || next == ']' || next == '}' ? simdjson::TAPE_ERROR : simdjson::SUCCESS;
}

// The part's bytes, or those of the window and one where it does not end there. Brackets are matched by their number
// alone: what does not fit is for the parser to see.
size_t JsonParts::find_end() const {
  const std::string_view text = text_.window();
  int64_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == ']' || c == '}')) {
      return at;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text.size() + 1;
}

bool JsonParts::extend() { return find_end() > text_.window().size() && grow(); }

std::optional<size_t> JsonParts::bytes_between(std::string_view text) const {
  size_t at = 0;
  const auto skip_spaces = [&] {
    while (at < text.size() && is_space(text[at])) ++at;
    return at < text.size();
  };
  if (!skip_spaces()) return std::nullopt;
  if (text[at] == closing()) return at;
  if (text[at] != ',') return std::nullopt;
  ++at;
  skip_spaces();
  return at;
}

simdjson::error_code JsonParts::read(std::string_view* part) {
  for (;;) {
    const size_t end = find_end();
    if (end <= text_.window().size()) {
      *part = text_.window().substr(0, end);
      return simdjson::SUCCESS;
    }
    if (!grow()) return simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
  }
}

}  // namespace importer
