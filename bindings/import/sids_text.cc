// A SID in one string.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/base.h>

#include <algorithm>

#include "failure.h"
#include "numbers.h"
#include "sids.h"

namespace importer {
namespace {

// What may stand between the codes of a SID in a string, besides spaces: between numbers, or where the caller has said
// what the tokens are; and between words.
constexpr std::string_view kBetween = ",-_|/;", kBetweenWords = ",;|";

void skip_spaces(std::string_view& text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
}

// How the tokens without brackets in a string follow each other: "a_1b_2" and "a_1 b_2" are SIDs, but in "a_1b_2 c_3"
// the spaces say that "a_1b_2" is one token.
struct Joints {
  bool apart = false, glued = false;

  void see(std::string_view rest, bool brackets) {
    if (!rest.empty() && !brackets) (ends_word(rest) ? apart : glued) = true;
  }
};

// A begin or end token, which, as a word, ends where words do.
bool take(std::string_view& text, std::string_view what, Joints& joints) {
  if (text.substr(0, what.size()) != what) return false;
  text.remove_prefix(what.size());
  const bool brackets = has_brackets(what, what);
  if (!brackets && !ends_word(text)) return false;
  joints.see(text, brackets);
  skip_spaces(text);
  return true;
}

// Takes off what stands before a code that is not the first; false where a sign does, as in NumPy's "[ 3 -1]".
bool take_between(std::string_view& text, std::string_view between, const Family& family) {
  const size_t before = text.size();
  skip_spaces(text);
  // What joins words belongs to the token that begins with it.
  const bool joins = !text.empty() && between.find(text[0]) != between.npos;
  if (!joins || (!family.before.empty() && family.before[0] == text[0])) return true;
  if (text[0] == '-' && text.size() < before && text.size() > 1 && is_digit(text[1])) return false;
  text.remove_prefix(1);
  skip_spaces(text);
  return true;
}

}  // namespace

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
  fail("'" + shortened(text) + "': where its tokens begin cannot be told; " + options_.named("token_pattern") +
       " says so, such as '" + one + "' or '" + other + "'");
}

// The numbers of a string of tokens of known families, taken off from left to right; false where the string is anything
// else: the long way then says what is wrong.
bool Sids::take_numbers(std::string_view text, std::vector<std::string_view>& numbers) const {
  numbers.clear();
  if (!text.empty() && (text[0] == '[' || text[0] == '(' || text[0] == ' ')) strip_list(text);
  Joints joints;
  for (const std::string& token : shape_.begin) {
    if (!take(text, token, joints)) return false;
  }
  const bool plain = shape_.begin.empty() && levels_[0].family.plain();
  const std::string_view between = plain || !options_.token_pattern.empty() ? kBetween : kBetweenWords;
  for (size_t position = 0; position < levels_.size() && !text.empty(); ++position) {
    if (!shape_.end.empty() && text.substr(0, shape_.end[0].size()) == shape_.end[0]) break;
    const Family& family = levels_[position].family;
    if (position > 0 && !take_between(text, between, family)) return false;
    std::string_view token = text;
    if (family.take(text) < 0) return false;
    token.remove_suffix(text.size() + family.after.size());
    numbers.push_back(token.substr(family.before.size()));
    joints.see(text, family.bracketed());
  }
  skip_spaces(text);
  for (const std::string& token : shape_.end) {
    if (!take(text, token, joints)) return false;
  }
  return text.empty() && !numbers.empty() && !(joints.apart && joints.glued);
}

}  // namespace importer
