// A token is a family, what stands around its number, and a code, the number.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_FAMILY_H
#define SIDBEAM_IMPORT_FAMILY_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace importer {

// Whether what begins and ends like this is in angle or square brackets.
inline bool has_brackets(std::string_view begin, std::string_view end) {
  if (begin.empty() || end.empty()) return false;
  return (begin.front() == '<' && end.back() == '>') || (begin.front() == '[' && end.back() == ']');
}

struct Family {
  std::string before, after;

  // Of plain numbers.
  bool plain() const { return before.empty() && after.empty(); }
  // "<a_*>" or "[a_*]", whose end is seen whatever follows.
  bool bracketed() const { return has_brackets(before, after); }
  // "<a_*>"; a star or backslash of the token has a backslash before it.
  std::string text() const;
  // The code of the whole token, or -1. Digits as programs print them: no zeros before them.
  int64_t code(std::string_view token) const;
  // The code of the token that begins the text, which is taken off it, or -1.
  int64_t take(std::string_view& text) const;
};

// A token taken apart: texts[0] numbers[0] texts[1] ... numbers[n-1] texts[n].
struct TokenParts {
  std::vector<std::string_view> texts, numbers;

  void split(std::string_view token);
  // The family if number i is the code.
  Family family(size_t i) const;
};

bool has_digit(std::string_view token);

// The tokens of one SID that is written in one string: "<a_1><b_2>", "a_1 b_2", "C1C2", "12-24-52", "[12, 24]",
// "('<a_1>', '<b_2>')". `out` gets views of the text. Returns whether it was one word in which each token begins where
// letters follow a digit.
bool split_sid(std::string_view text, std::vector<std::string_view>& out);
// How many codes an element of a list has that is several tokens in one string, and therefore a SID by itself; 0: it
// is one token.
size_t codes_of_several(std::string_view text, std::vector<std::string_view>& scratch);
// Whether a token without brackets ends before this rest of a string.
bool ends_word(std::string_view rest);
// Whether round, square and curly brackets of a token close, in their order, and none in angle brackets begins anew.
bool brackets_close(std::string_view token);

// "[12, 24]" or "(12, 24)" without its brackets and the spaces around; true where there were brackets.
bool strip_list(std::string_view& text);

// Families of --token-pattern for so many levels; empty where it is malformed or has another number of families. With
// levels = 0 one family stands for itself.
std::vector<Family> parse_pattern(std::string_view pattern, int32_t levels);

// A JSON list of strings.
std::string json_list(const std::vector<std::string>& texts);

}  // namespace importer

#endif
