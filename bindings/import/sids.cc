// SPDX-License-Identifier: Apache-2.0
#include "sids.h"

#include <sidbeam/base.h>
#include <support/escape.h>

#include <algorithm>
#include <utility>

#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

std::string codes_text(int32_t count) { return std::to_string(count) + (count == 1 ? " code" : " codes"); }

std::string quoted(std::string_view token) { return "'" + std::string(token) + "'"; }

// What may stand between the codes of a SID in a string, besides spaces.
constexpr std::string_view kBetween = ",-_|/;";

void skip_spaces(std::string_view& text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
}

bool take(std::string_view& text, std::string_view what) {
  if (text.substr(0, what.size()) != what) return false;
  text.remove_prefix(what.size());
  skip_spaces(text);
  return true;
}

}  // namespace

Sids::Sids(const Shape& shape, const Options& options, const Where& where)
    : options_(options),
      where_(where),
      shape_(shape),
      most_(shape.levels > 0 ? shape.levels : int32_t{SIDBEAM_MAX_LEVELS}) {
  levels_.resize(shape.families.size());
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
  if (pieces_.empty()) return close(batch);
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

void Sids::read_string(Batch& batch, std::string_view text) {
  if (all_known_ && take_numbers(text, numbers_)) {
    for (const std::string_view number : numbers_) add_code(batch, *parse_integer<int64_t>(number));
    return;
  }
  tokens_.clear();
  const bool word = split_sid(text, tokens_);
  if (tokens_.empty()) return;  // close() says so
  if (word && !options_.token_pattern.empty()) {
    read_word(batch, text);
  } else {
    if (word && !all_known_) check_word(text);
    read_tokens(batch);
  }
  tokens_.clear();
}

// Tokens that follow each other without anything between, of the families that the caller has given.
void Sids::read_word(Batch& batch, std::string_view text) {
  shape_.framed = true;
  while (!text.empty()) {
    const auto position = static_cast<size_t>(position_);
    const Level& level = level_at(position);
    if (kBetween.find(text[0]) != std::string_view::npos && level.family.before.substr(0, 1) != text.substr(0, 1)) {
      text.remove_prefix(1);
    }
    const int64_t code = level.family.take(text);
    if (code < 0) fail_family(level, position, text);
    add_code(batch, code);
  }
}

// Where a token of a word begins with what also joins words, its end and the next one's beginning are not told apart.
void Sids::check_word(std::string_view text) {
  const auto unclear = [](std::string_view token) {
    constexpr std::string_view kJoins = "_-.:/#0123456789";
    return kJoins.find(token[0]) != token.npos || token.find_first_not_of(kJoins) == token.npos;
  };
  if (std::none_of(tokens_.begin() + 1, tokens_.end(), unclear)) return;
  std::string one;
  for (const std::string_view token : tokens_) {
    parts_.split(token);
    one += (one.empty() ? "" : " ") + parts_.family(0).text();
  }
  parts_.split(text);
  const std::string other = parts_.family(parts_.numbers.size() - 1).text();
  fail(quoted(text) + ": where its tokens begin cannot be told; " + options_.named("token_pattern") +
       " says so, such as '" + one + "' or '" + other + "'");
}

// The numbers of a string of tokens of known families, taken off from left to right; false where the string is anything
// else: the long way then says what is wrong.
bool Sids::take_numbers(std::string_view text, std::vector<std::string_view>& numbers) const {
  numbers.clear();
  if (!text.empty() && (text[0] == '[' || text[0] == '(' || text[0] == ' ')) strip_list(text);
  for (const std::string& token : shape_.begin) {
    if (!take(text, token)) return false;
  }
  for (size_t position = 0; position < levels_.size() && !text.empty(); ++position) {
    if (!shape_.end.empty() && text.substr(0, shape_.end[0].size()) == shape_.end[0]) break;
    const Family& family = levels_[position].family;
    if (position > 0) {
      skip_spaces(text);
      // What joins words belongs to the token that begins with it.
      if (!text.empty() && kBetween.find(text[0]) != std::string_view::npos &&
          (family.before.empty() || family.before[0] != text[0])) {
        text.remove_prefix(1);
        skip_spaces(text);
      }
    }
    std::string_view token = text;
    if (family.take(text) < 0) return false;
    token.remove_suffix(text.size() + family.after.size());
    numbers.push_back(token.substr(family.before.size()));
  }
  skip_spaces(text);
  for (const std::string& token : shape_.end) {
    if (!take(text, token)) return false;
  }
  return text.empty() && !numbers.empty();
}

// What becomes a family, or a begin or end token, is text that metadata and terminals take.
void Sids::check_text(std::string_view token) const {
  if (std::none_of(token.begin(), token.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) return;
  fail("token " + quoted(sidbeam::escaped(token)) + " has control characters, expected text");
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
  if (looks_like_number(token)) {
    level.known = true;
    return;
  }
  check_text(token);
  parts_.split(token);
  if (parts_.numbers.empty()) {
    fail("token " + quoted(token) + " at level " + std::to_string(position_) +
         " has no code, expected one such as '<a_236>'");
  }
  if (parts_.numbers.size() == 1) {
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
  Level& level = levels_[position];
  level.smallest = std::min(level.smallest, code);
  level.largest = std::max(level.largest, code);
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
  const std::string first = level.token.empty() ? "" : ", as " + quoted(level.token) + " (" + level.row + ")";
  fail("token " + quoted(token) + " at level " + std::to_string(position) + ", expected " + expected + first);
}

}  // namespace importer
