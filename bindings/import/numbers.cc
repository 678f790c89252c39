// SPDX-License-Identifier: Apache-2.0
#include "numbers.h"

namespace importer {

bool looks_like_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.')) return false;
  double value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && error != std::errc::invalid_argument;
}

std::optional<int64_t> whole(double number) {
  constexpr double kMost = 9007199254740991.0;  // 2^53 - 1: beyond it neighbours are not told apart
  if (!(number >= -kMost && number <= kMost)) return std::nullopt;
  const auto integer = static_cast<int64_t>(number);
  if (static_cast<double>(integer) != number) return std::nullopt;
  return integer;
}

std::optional<int64_t> parse_whole(std::string_view text) {
  if (const auto integer = parse_integer<int64_t>(text)) return integer;
  if (!looks_like_number(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return whole(value);
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = text[0] == '-' ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace importer
