// SPDX-License-Identifier: Apache-2.0
#include "family.h"

#include <algorithm>

#include "numbers.h"

namespace importer {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::string escaped_star(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Digits at the beginning, as programs print a number that is not negative, or -1.
int64_t take_number(std::string_view& text) {
  constexpr size_t kMost = 18;  // digits that an int64 holds, whatever they are
  size_t digits = 0;
  int64_t number = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    if (digits == kMost) return -1;
    number = number * 10 + (text[digits] - '0');
  }
  if (digits == 0 || (digits > 1 && text[0] == '0')) return -1;
  text.remove_prefix(digits);
  return number;
}

// What separates numbers, "12-24-52", besides spaces, and what ends words.
constexpr std::string_view kSeparators = ",-_|/;", kNumberEnds = " \t\r\n,-_|/;", kWordEnds = " \t\r\n,;|<[";

bool begins_with_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && is_digit(text[0]);
}

// Where the number that begins the text ends; "1.5e-05" is one.
size_t number_end(std::string_view text) {
  size_t end = text.find_first_of(kNumberEnds, 1);
  while (end != text.npos && text[end] == '-' && (text[end - 1] == 'e' || text[end - 1] == 'E')) {
    end = text.find_first_of(kNumberEnds, end + 1);
  }
  return std::min(end, text.size());
}

// Nothing between two separators, or after the last one, is a token too, an empty one, which is no number. A minus
// after a space and before a digit is a sign, as in NumPy's "[ 3 -1]".
void split_numbers(std::string_view text, std::vector<std::string_view>& out) {
  for (;;) {
    const size_t end = number_end(text);
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) return;
    const size_t spaces = text.find_first_not_of(kSpaces);
    text.remove_prefix(spaces);
    const bool sign = spaces > 0 && text[0] == '-' && text.size() > 1 && is_digit(text[1]);
    if (sign || kSeparators.find(text[0]) == kSeparators.npos) continue;
    text = trimmed(text.substr(1));
    if (text.empty() || (text[0] != '-' && kSeparators.find(text[0]) != kSeparators.npos)) {
      return out.push_back(text.substr(0, 0));
    }
  }
}

// The token that begins the text, brackets, quotes or a word up to a separator. Quotes are left out.
std::string_view take_token(std::string_view& text) {
  const char first = text[0];
  const char last = first == '<' ? '>' : first == '[' ? ']' : first == '\'' || first == '"' ? first : '\0';
  size_t end = last != '\0' ? text.find(last, 1) : text.npos;
  const bool quoted = (first == '\'' || first == '"') && end != text.npos;
  end = end != text.npos ? end + 1 : std::min(text.find_first_of(kWordEnds, 1), text.size());
  std::string_view token = text.substr(0, end);
  if (quoted) token = token.substr(1, token.size() - 2);
  text.remove_prefix(end);
  return token;
}

// "C1C2": a token begins wherever something else follows a digit.
void split_word(std::string_view word, std::vector<std::string_view>& out) {
  size_t begin = 0;
  for (size_t at = 1; at < word.size(); ++at) {
    if (is_digit(word[at]) || !is_digit(word[at - 1])) continue;
    if (word.find_first_of("0123456789", at) == word.npos) break;  // the last token's end
    out.push_back(word.substr(begin, at - begin));
    begin = at;
  }
  out.push_back(word.substr(begin));
}

// "[a_1]", which no list is: those have spaces, quotes or numbers.
bool is_bracketed_word(std::string_view text) {
  constexpr std::string_view kOfLists = " \t\r\n,;|'\"<";
  const std::string_view inner = text.substr(1, text.size() - 2);
  return !inner.empty() && inner.find_first_of(kOfLists) == inner.npos && !begins_with_number(inner);
}

}  // namespace

std::string Family::text() const { return escaped_star(before) + "*" + escaped_star(after); }

int64_t Family::code(std::string_view token) const {
  const int64_t number = take(token);
  return token.empty() ? number : -1;
}

int64_t Family::take(std::string_view& text) const {
  if (text.substr(0, before.size()) != before) return -1;
  std::string_view rest = text.substr(before.size());
  const int64_t number = take_number(rest);
  if (number < 0 || rest.substr(0, after.size()) != after) return -1;
  text = rest.substr(after.size());
  return number;
}

void TokenParts::split(std::string_view token) {
  texts.clear();
  numbers.clear();
  for (size_t begin = 0;;) {
    const size_t digits = std::min(token.find_first_of("0123456789", begin), token.size());
    texts.push_back(token.substr(begin, digits - begin));
    if (digits == token.size()) return;
    begin = std::min(token.find_first_not_of("0123456789", digits), token.size());
    numbers.push_back(token.substr(digits, begin - digits));
  }
}

Family TokenParts::family(size_t i) const {
  Family family;
  for (size_t t = 0; t < texts.size(); ++t) {
    std::string& side = t <= i ? family.before : family.after;
    side += texts[t];
    if (t < numbers.size() && t != i) side += numbers[t];
  }
  return family;
}

bool has_digit(std::string_view token) { return token.find_first_of("0123456789") != token.npos; }

bool strip_list(std::string_view& text) {
  text = trimmed(text);
  if (text.size() < 2) return false;
  const bool tuple = text.front() == '(' && text.back() == ')';
  // "[a_1][b_2]" and "[a_1]" are tokens.
  const bool list = text.front() == '[' && text.find(']') == text.size() - 1 && !is_bracketed_word(text);
  if (!tuple && !list) return false;
  text = trimmed(text.substr(1, text.size() - 2));
  if (tuple && !text.empty() && text.back() == ',') text = trimmed(text.substr(0, text.size() - 1));
  return true;
}

bool split_sid(std::string_view text, std::vector<std::string_view>& out) {
  const bool list = strip_list(text);
  if (text.empty()) return false;
  if (begins_with_number(text)) {
    split_numbers(text, out);
    return false;
  }
  const size_t before = out.size();
  const bool brackets = text[0] == '<' || text[0] == '[' || text[0] == '\'' || text[0] == '"';
  while (!text.empty()) {
    out.push_back(take_token(text));
    text = trimmed(text);
    if (!text.empty() && std::string_view(",;|").find(text[0]) != std::string_view::npos) {
      text = trimmed(text.substr(1));
      if (text.empty()) out.push_back(text);  // nothing follows a separator
    }
  }
  if (list || brackets || out.size() != before + 1) return false;
  const std::string_view word = out.back();
  out.pop_back();
  split_word(word, out);
  return out.size() > before + 1;
}

size_t codes_of_several(std::string_view text, std::vector<std::string_view>& scratch) {
  scratch.clear();
  if (!text.empty() && text[0] == '<' && text.find('>') == text.size() - 1) return 0;
  const bool word = split_sid(text, scratch);
  if (scratch.size() < 2 || word) return 0;
  return static_cast<size_t>(std::count_if(scratch.begin(), scratch.end(), has_digit));
}

bool ends_word(std::string_view rest) { return rest.empty() || kWordEnds.find(rest[0]) != kWordEnds.npos; }

bool brackets_close(std::string_view token) {
  if (!token.empty() && token[0] == '<' && token.find('<', 1) != token.npos) return false;
  std::string open;
  for (const char c : token) {
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty();
}

std::vector<Family> parse_pattern(std::string_view pattern, int32_t levels) {
  std::vector<Family> families;
  std::vector<std::string> words(1);
  std::vector<size_t> stars(1, std::string::npos);
  for (size_t at = 0; at < pattern.size(); ++at) {
    std::string& word = words.back();
    if (pattern[at] == ' ') {
      words.emplace_back();
      stars.push_back(std::string::npos);
    } else if (pattern[at] == '*') {
      if (stars.back() != std::string::npos) return {};
      stars.back() = word.size();
    } else {
      if (pattern[at] == '\\' && ++at == pattern.size()) return {};
      word += pattern[at];
    }
  }
  const auto count = static_cast<size_t>(levels);
  if (words.size() != 1 && levels > 0 && words.size() != count) return {};
  for (size_t level = 0; level < std::max(words.size(), count); ++level) {
    const size_t from = words.size() == 1 ? 0 : level;
    if (stars[from] == std::string::npos) return {};
    Family family{words[from].substr(0, stars[from]), words[from].substr(stars[from])};
    for (std::string* const side : {&family.before, &family.after}) {
      constexpr std::string_view kLevel = "{level}";
      for (size_t at = side->find(kLevel); at != side->npos; at = side->find(kLevel, at)) {
        side->replace(at, kLevel.size(), std::to_string(level));
      }
    }
    families.push_back(family);
  }
  return families;
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    list += list.size() > 1 ? ", \"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') list += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) {
        list += c;
        continue;
      }
      constexpr char kHex[] = "0123456789abcdef";
      list += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    }
    list += '"';
  }
  return list + "]";
}

}  // namespace importer
