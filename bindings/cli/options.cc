// Option values that CLI11 does not parse for us.
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <sidbeam/sidbeam.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "failure.h"

namespace cli {
namespace {

struct Kind {
  const char* name;
  int32_t bit;
};
constexpr Kind kKinds[] = {{"trie", SIDBEAM_KIND_TRIE},
                           {"compact", SIDBEAM_KIND_COMPACT_TRIE},
                           {"sorted", SIDBEAM_KIND_SORTED},
                           {"hash", SIDBEAM_KIND_HASH}};

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<int64_t> parse_list(const std::string& option, const std::string& text) {
  std::vector<int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string& part : split(text, ',')) {
    const auto number = parse_integer<int64_t>(part);
    if (!number) throw UsageError(option + ": '" + text + "', expected integers separated by commas");
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<int32_t> parse_list(const std::string& option, const std::string& text, int64_t least, int64_t most) {
  std::vector<int32_t> numbers;
  for (const int64_t number : parse_list(option, text)) {
    if (number < least || number > most) {
      throw UsageError(option + ": " + std::to_string(number) + ", expected " + std::to_string(least) + ".." +
                       std::to_string(most));
    }
    numbers.push_back(static_cast<int32_t>(number));
  }
  return numbers;
}

int64_t parse_bytes(const std::string& option, const std::string& text) {
  int shift = 0;
  std::string_view digits = text;
  if (!digits.empty()) {
    switch (digits.back()) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      case 'T':
        shift = 40;
        break;
      default:
        break;
    }
  }
  if (shift > 0) digits.remove_suffix(1);
  const auto number = parse_integer<int64_t>(digits);
  if (!number || *number < 1 || *number > (std::numeric_limits<int64_t>::max() >> shift)) {
    throw UsageError(option + ": '" + text + "', expected a number of bytes such as 800000000, 512M or 16G");
  }
  return *number << shift;
}

std::string seconds_complaint(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && seconds >= 0 && seconds <= 1e9 ? "" : "expected seconds, at least 0";
}

int64_t to_milliseconds(double seconds) { return static_cast<int64_t>(std::ceil(seconds * 1000)); }

int32_t parse_kinds(const std::string& text) {
  int32_t kinds = 0;
  for (const std::string& part : split(text, ',')) {
    int32_t bit = 0;
    for (const Kind& kind : kKinds) bit |= part == kind.name ? kind.bit : 0;
    if (bit == 0) throw UsageError("--kinds: '" + part + "', expected some of trie,compact,sorted,hash");
    kinds |= bit;
  }
  return (kinds & SIDBEAM_KIND_COMPACT_TRIE) != 0 ? kinds | SIDBEAM_KIND_TRIE : kinds;
}

std::vector<std::string> kind_names(int32_t kinds) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    if ((kinds & kind.bit) != 0) names.emplace_back(kind.name);
  }
  return names;
}

std::vector<int32_t> parse_codes(const std::string& text, int32_t levels, bool variable_length) {
  if (text.empty()) return {};
  std::vector<int32_t> codes = parse_list("--codes", text, 1, SIDBEAM_MAX_CODES - (variable_length ? 1 : 0));
  if (codes.size() == 1 && levels > 0) codes.assign(static_cast<size_t>(levels), codes[0]);
  if (levels > 0 && codes.size() != static_cast<size_t>(levels)) {
    throw UsageError("--codes: " + std::to_string(codes.size()) + " numbers, expected 1 or " + std::to_string(levels) +
                     " (--levels)");
  }
  return codes;
}

}  // namespace cli
