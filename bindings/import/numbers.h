// Integers out of text.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_NUMBERS_H
#define SIDBEAM_IMPORT_NUMBERS_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace importer {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The integer that the whole of `text` is, or nothing.
template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Like parse_integer, but only the text that printing the integer would give: "7", not "07" or "+7".
template <class Integer>
std::optional<Integer> parse_canonical(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || (digits[0] == '0' && (negative || digits.size() > 1))) return std::nullopt;
  return parse_integer<Integer>(text);
}

// The number that up to 18 digits are, which are all of the text; otherwise false.
inline bool parse_digits(std::string_view text, int64_t* number) {
  if (text.empty() || text.size() > 18) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    value = value * 10 + (c - '0');
  }
  *number = value;
  return true;
}

// Whether the text is a number as programs print them, with or without a fraction; it may be too large or not whole.
bool looks_like_number(std::string_view text);
// The integer that a number is, "12" or "12.0" or "1.2e1", or nothing.
std::optional<int64_t> parse_whole(std::string_view text);
// The integer that a floating-point number is, or nothing where it may be another that has been rounded.
std::optional<int64_t> whole(double number);

// "10,310"
std::string with_commas(int64_t number);

}  // namespace importer

#endif
