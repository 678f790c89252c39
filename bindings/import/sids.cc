// SPDX-License-Identifier: Apache-2.0
#include "sids.h"
#include "support/utf8.h"

#include <sidbeam/base.h>
#include <support/escape.h>

#include <algorithm>
#include <utility>

#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

std::string codes_text(int32_t count) { return std::to_string(count) + (count == 1 ? " code" : " codes"); }

std::string quoted(std::string_view token) { return "'" + shortened(token) + "'"; }

}  // namespace

Sids::Sids(const Shape& shape, const Options& options, const Where& where)
    : options_(options),
      where_(where),
      shape_(shape),
      most_(shape.levels > 0 ? shape.levels : int32_t{SIDBEAM_MAX_LEVELS}) {
  levels_.resize(shape.families.size());
  ranges_.resize(levels_.size());
  for (size_t l = 0; l < levels_.size(); ++l) levels_[l] = given(shape.families[l]);
  all_known_ = shape.framed && !levels_.empty();
}

Sids::Level Sids::given(const Family& family) {
  Level level;
  level.family = family;
  level.known = true;
  return level;
}

void Sids::fail(const std::string& what) const { throw Failure(where_.place() + ": " + what); }

Sids::Level& Sids::level_at(size_t position) {
  if (position >= levels_.size()) {
    if (static_cast<int32_t>(position) >= most_) fail_long();
    levels_.resize(position + 1);
    ranges_.resize(position + 1);
    if (!options_.token_pattern.empty()) {
      levels_[position] = given(parse_pattern(options_.token_pattern, static_cast<int32_t>(position) + 1)[position]);
    }
  }
  return levels_[position];
}

void Sids::number(Batch& batch, int64_t number) {
  if (!pieces_.empty()) fail("number " + std::to_string(number) + " among tokens, expected one or the other");
  const auto position = static_cast<size_t>(position_);
  Level& level = level_at(position);
  shape_.framed = true;  // without begin and end, if they are not known yet
  if (!level.known) {
    meet(level, std::to_string(number));
  } else if (!level.family.plain()) {
    fail_family(level, position, std::to_string(number));
  }
  add_code(batch, number);
}

void Sids::end_sid(Batch& batch) {
  ++sids_;
  long_way_ = true;
  if (pieces_.empty()) {
    const std::vector<std::string>& frame = shape_.begin.empty() ? shape_.end : shape_.begin;
    if (position_ > 0 && !frame.empty()) {
      fail("a SID of numbers, expected the token " + quoted(frame[0]) +
           (framed_by_.empty() ? "" : " as in " + framed_by_));
    }
    return close(batch);
  }
  if (position_ > 0) fail(quoted(pieces_.back().text) + " among numbers, expected one or the other");
  pieces_.push_back({{}, false});
}

// Pieces are separated by empty ones without an address, which end_sid has put there.
int32_t Sids::end_record(Batch& batch) {
  tokens_.clear();
  for (const Piece& piece : pieces_) {
    if (piece.whole) {
      tokens_.push_back(piece.text);
    } else if (piece.text.data() != nullptr) {
      read_string(batch, piece.text);
    } else {
      if (!tokens_.empty()) read_tokens(batch);
      tokens_.clear();
      close(batch);
    }
  }
  pieces_.clear();
  if (std::exchange(long_way_, false)) prepare_patterns();
  return std::exchange(sids_, 0);
}

// What becomes a family, or a begin or end token, is text that metadata and terminals take, and no piece of a list that
// has been cut or is written in a way that is not known: "[1, 2", "{1, 2}", "tensor([1, 2])".
void Sids::check_text(std::string_view token) const {
  if (std::any_of(token.begin(), token.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    fail("token " + quoted(sidbeam::escaped(token)) + " has control characters, expected text");
  }
  if (!sidbeam::is_utf8(token)) fail("token " + quoted(token) + " is not UTF-8, expected text that is");
  if (!brackets_close(token)) {
    fail("token " + quoted(token) + " has a bracket that does not close, expected a list [12, 24] or tokens (" +
         options_.named("token_pattern") + ")");
  }
}

// Begin and end tokens: those of the first SID that have no number.
void Sids::frame() {
  const auto coded = [](std::string_view token) { return has_digit(token); };
  const auto first = std::find_if(tokens_.begin(), tokens_.end(), coded);
  if (first == tokens_.end()) {
    fail("token " + quoted(tokens_[0]) + " at level 0 has no code, expected one such as '<a_236>'");
  }
  const auto last = std::find_if(tokens_.rbegin(), tokens_.rend(), coded).base();
  shape_.begin.assign(tokens_.begin(), first);
  shape_.end.assign(last, tokens_.end());
  shape_.framed = true;
  for (const std::string& token : shape_.begin) check_text(token);
  for (const std::string& token : shape_.end) check_text(token);
  framed_by_ = where_.row();
}

void Sids::read_tokens(Batch& batch) {
  if (std::any_of(tokens_.begin(), tokens_.end(), [](std::string_view token) { return token.empty(); })) {
    fail("an empty token, expected a code");
  }
  if (!shape_.framed) frame();
  const size_t begin = shape_.begin.size(), end = shape_.end.size(), count = tokens_.size();
  const auto check = [&](const std::vector<std::string>& expected, size_t at, const char* what) {
    for (size_t i = 0; i < expected.size(); ++i) {
      if (at + i < count && tokens_[at + i] == expected[i]) continue;
      fail((at + i < count ? quoted(tokens_[at + i]) : "a SID of " + std::to_string(count) + " tokens") +
           ", expected the " + what + " token " + quoted(expected[i]) +
           (framed_by_.empty() ? "" : " as in " + framed_by_));
    }
  };
  check(shape_.begin, 0, "begin");
  if (count < begin + end) fail("a SID of " + std::to_string(count) + " tokens, expected its end " + shape_.end[0]);
  check(shape_.end, count - end, "end");
  for (size_t i = begin; i < count - end; ++i) read_token(batch, tokens_[i]);
}

// The number that a token is where it is a number, which must be whole.
int64_t Sids::plain_code(std::string_view token, bool* is_number) const {
  *is_number = looks_like_number(token);
  if (!*is_number) return -1;
  const auto code = parse_whole(token);
  if (!code) fail(std::string(token) + " at level " + std::to_string(position_) + ", expected an integer code");
  return *code;
}

void Sids::read_token(Batch& batch, std::string_view token) {
  const auto position = static_cast<size_t>(position_);
  Level& level = level_at(position);
  if (level.known && !level.family.plain()) {
    const int64_t code = level.family.code(token);
    if (code < 0) fail_family(level, position, token);
    return add_code(batch, code);
  }
  bool is_number;
  const int64_t number = plain_code(token, &is_number);
  if (is_number && level.texts.empty()) {
    if (!level.known) meet(level, token);
    return add_code(batch, number);
  }
  if (level.known) fail_family(level, position, token);
  if (level.texts.empty()) meet(level, token);
  if (!level.known) return read_parts(batch, level, token);
  const int64_t code = level.family.code(token);
  if (code < 0) fail_family(level, position, token);
  add_code(batch, code);
}

// The first token of a level.
void Sids::meet(Level& level, std::string_view token) {
  level.token = token;
  level.row = where_.row();
  const bool plain = looks_like_number(token);
  for (const Level& other : levels_) {
    if (other.token.empty() || looks_like_number(other.token) == plain) continue;
    fail("token " + quoted(token) + " at level " + std::to_string(position_) + " beside tokens like " +
         quoted(other.token) + " (" + other.row + "), expected numbers or tokens (" + options_.named("token_pattern") +
         ")");
  }
  if (plain) {
    level.known = true;
    return;
  }
  parts_.split(token);
  if (parts_.numbers.empty()) {
    fail("token " + quoted(token) + " at level " + std::to_string(position_) +
         " has no code, expected one such as '<a_236>'");
  }
  const bool single = parts_.numbers.size() == 1;
  std::vector<std::string_view> tokens;
  if (!single && (parts_.texts[0].empty() || codes_of_several(token, tokens) > 1)) {
    fail(quoted(token) + " at level " + std::to_string(position_) + " has several numbers, expected one token (" +
         options_.named("token_pattern") + ")");
  }
  check_text(token);
  if (single) {
    level.family = parts_.family(0);
    level.known = true;
    return;
  }
  level.texts.assign(parts_.texts.begin(), parts_.texts.end());
  for (const std::string_view number : parts_.numbers) {
    level.first.push_back(parse_integer<int64_t>(number).value_or(-1));
  }
  level.other.resize(level.first.size());
  level.largest_each = level.first;
}

// A token of several numbers, while it is not known which of them is the code.
void Sids::read_parts(Batch& batch, Level& level, std::string_view token) {
  parts_.split(token);
  const bool same = parts_.texts.size() == level.texts.size() &&
                    std::equal(parts_.texts.begin(), parts_.texts.end(), level.texts.begin());
  if (!same) fail_family(level, static_cast<size_t>(position_), token);
  for (size_t i = 0; i < parts_.numbers.size(); ++i) {
    const auto number = parse_canonical<int64_t>(parts_.numbers[i]);
    if (!number) fail_family(level, static_cast<size_t>(position_), token);
    if (*number != level.first[i] && level.other[i].empty()) level.other[i] = token;
    level.largest_each[i] = std::max(level.largest_each[i], *number);
  }
  add_code(batch, 0, true);
}

int64_t Sids::most_codes() const { return SIDBEAM_MAX_CODES - (shape_.variable_length ? 1 : 0); }

void Sids::add_code(Batch& batch, int64_t code, bool placeholder) {
  const auto position = static_cast<size_t>(position_++);
  if (position_ > most_) fail_long();
  const int64_t known = shape_.codes_of(position);
  const int64_t codes = known > 0 ? known : most_codes();
  if (shape_.token_base && position < levels_.size() &&
      !(levels_[position].known && levels_[position].family.plain())) {
    fail("tokens at level " + std::to_string(position) + ", expected token ids, which are plain numbers (" +
         options_.named("token_base") + ")");
  }
  if (shape_.token_base && !placeholder) {
    int64_t first = *shape_.token_base;
    for (size_t l = 0; l < position; ++l) first += shape_.codes_of(l);
    if (code < first || code - first >= codes) {
      fail("token id " + std::to_string(code) + " at level " + std::to_string(position) + ", expected " +
           std::to_string(first) + ".." + std::to_string(first + codes - 1) + " (" + options_.named("token_base") +
           ", " + options_.named("codes") + ")");
    }
    code -= first;
  }
  if (code < 0 || code >= codes) {
    fail("code " + std::to_string(code) + " at level " + std::to_string(position) + ", expected 0.." +
         std::to_string(codes - 1));
  }
  batch.codes.push_back(static_cast<int32_t>(code));
  if (placeholder || position >= levels_.size()) return;
  Range& range = ranges_[position];
  range.smallest = std::min(range.smallest, code);
  range.largest = std::max(range.largest, code);
}

// Throws at the first excess code: a row may be as long as its file.
void Sids::fail_long() const {
  const bool as_first = shape_.levels == 0 && first_ > 0 && !shape_.variable_length;
  const bool exact = as_first || (shape_.levels > 0 && !shape_.variable_length);
  fail("SID of more than " + codes_text(most_) + ", expected " + (exact ? "" : "at most ") + std::to_string(most_) +
       (as_first ? " as in the first row (or " + options_.named("variable_length") + ")" : ""));
}

void Sids::close(Batch& batch) {
  const int32_t length = position_;
  position_ = 0;
  if (length == 0) fail("empty SID, expected at least one code");
  if (first_ == 0) {
    first_ = length;
    if (shape_.levels == 0 && !shape_.variable_length) most_ = length;
  }
  const int32_t expected = shape_.levels > 0 ? shape_.levels : first_;
  if (!shape_.variable_length && length != expected) {
    fail("SID of " + codes_text(length) + ", expected " + std::to_string(expected) +
         (shape_.levels > 0 ? "" : " as in the first row") + " (or " + options_.named("variable_length") + ")");
  }
  batch.lengths.push_back(length);
}

void Sids::fail_family(const Level& level, size_t position, std::string_view token) const {
  std::string expected = "one of the family " + (level.known ? level.family.text() : level.token);
  if (level.known && level.family.plain()) expected = "a plain number";
  std::string what = "token " + quoted(token) + " at level " + std::to_string(position) + ", expected " + expected;
  if (!level.token.empty() && level.token != token) what += ", as " + quoted(level.token) + " (" + level.row + ")";
  TokenParts parts;
  parts.split(token);
  const auto padded = [](std::string_view number) { return number.size() > 1 && number[0] == '0'; };
  const bool zeros = std::any_of(parts.numbers.begin(), parts.numbers.end(), padded);
  fail(what + (zeros ? "; codes have no zeros before them" : ""));
}

}  // namespace importer
