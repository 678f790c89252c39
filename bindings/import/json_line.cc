// SPDX-License-Identifier: Apache-2.0
#include "json_line.h"

#include <utility>

#include "bytes.h"
#include "numbers.h"

namespace importer {

bool JsonLine::scan(std::string_view line) {
  at_ = line.data();
  end_ = line.data() + line.size();
  item_seen_ = sid_seen_ = priority_seen_ = false;
  others_seen_ = 0;
  priority = 0;
  ascii_ = true;
  if (!scan_object() || !item_seen_ || !sid_seen_) return false;
  skip_spaces();
  return at_ == end_ && (ascii_ || simdjson::validate_utf8(line.data(), line.size()));
}

bool JsonLine::scan_object() {
  skip_spaces();
  if (*at_++ != '{') return false;
  for (;;) {
    std::string_view key;
    skip_spaces();
    if (!scan_string(&key)) return false;
    skip_spaces();
    if (*at_++ != ':') return false;
    skip_spaces();
    if (!scan_field(key)) return false;
    skip_spaces();
    const char next = *at_++;
    if (at_ > end_) return false;
    if (next == '}') return true;
    if (next != ',') return false;
  }
}

bool JsonLine::scan_field(std::string_view key) {
  const auto once = [](bool* seen) { return !std::exchange(*seen, true); };
  if (key == fields_.sid.name) return once(&sid_seen_) && scan_sid();
  if (key == fields_.item.name) return once(&item_seen_) && scan_item();
  if (key == fields_.priority.name) return once(&priority_seen_) && scan_number(&priority);
  for (size_t i = 0; i < fields_.others.size(); ++i) {
    if (key != fields_.others[i]) continue;
    const uint64_t bit = uint64_t{1} << i;
    return (std::exchange(others_seen_, others_seen_ | bit) & bit) == 0 && skip_value();
  }
  return false;
}

// Without escapes and control characters.
bool JsonLine::scan_string(std::string_view* text) {
  if (*at_ != '"') return false;
  const char* const begin = at_ + 1;
  for (const char* at = begin;; at += 8) {
    if (at >= end_) return false;
    const uint64_t word = eight_bytes(at);
    if ((word & kHighs) != 0) ascii_ = false;
    const uint64_t controls = (word - kOnes * 0x20) & ~word & kHighs;
    const uint64_t stops = controls | zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\');
    if (stops == 0) continue;
    at += lowest(stops);
    if (at >= end_ || *at != '"') return false;
    *text = {begin, static_cast<size_t>(at - begin)};
    at_ = at + 1;
    return true;
  }
}

// An integer of up to 18 digits.
bool JsonLine::scan_number(int64_t* number) {
  constexpr int kMostDigits = 18;
  const char* at = at_;
  const bool negative = *at == '-';
  if (negative) ++at;
  const char* const begin = at;
  int digits = 0;
  int64_t value = short_number(at, &digits);
  if (digits == 8) {
    for (digits = 0; digits < kMostDigits && is_digit(at[digits]); ++digits) value = value * 10 + (at[digits] - '0');
    if (is_digit(at[digits])) return false;
  }
  at += digits;
  if (digits == 0 || (*begin == '0' && digits > 1)) return false;
  at_ = at;
  const char next = at < end_ ? *at : '\0';
  if (next != ',' && next != '}' && next != ']' && next != ' ') return false;
  *number = negative ? -value : value;
  return true;
}

bool JsonLine::scan_item() {
  if (*at_ == '"') return scan_string(&item) && !item.empty();
  const char* const begin = at_;
  int64_t number;
  if (!scan_number(&number) || (*begin == '-' && number == 0)) return false;
  item = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

bool JsonLine::scan_sid() {
  count = 0;
  if (*at_ == '"') {
    form = Form::kText;
    return scan_string(&tokens[0]);
  }
  if (*at_++ != '[') return false;
  skip_spaces();
  form = *at_ == '"' ? Form::kTokens : Form::kNumbers;
  for (; count < SIDBEAM_MAX_LEVELS; ++count) {
    skip_spaces();
    if (form == Form::kTokens ? !scan_string(&tokens[count]) : !scan_number(&numbers[count])) return false;
    skip_spaces();
    const char next = *at_++;
    if (next == ']') return ++count > 0;
    if (next != ',') return false;
  }
  return false;
}

bool JsonLine::skip_value() {
  if (*at_ == '"') {
    std::string_view text;
    return scan_string(&text);
  }
  for (const std::string_view word : {"null", "true", "false"}) {
    if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, word.size()) != word) continue;
    at_ += word.size();
    return true;
  }
  int64_t number;
  return scan_number(&number);
}

}  // namespace importer
