// SIDs of records like those before them, which nearly all are: their codes come from a pattern, without the pieces and
// messages that others need.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/base.h>

#include <algorithm>

#include "sids.h"

namespace importer {
namespace {

// "12" of "12.0", which is a code too.
std::string_view without_fraction(std::string_view number) {
  const size_t point = number.find('.');
  if (point == number.npos || point + 1 == number.size()) return number;
  return number.find_first_not_of('0', point + 1) == number.npos ? number.substr(0, point) : number;
}

}  // namespace

// After a record that came the long way, and may have taught something.
void Sids::prepare_patterns() {
  families_known_ = std::all_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.known; });
  all_known_ = families_known_ && shape_.framed && !levels_.empty();
  const bool fixed = !shape_.variable_length && static_cast<int32_t>(levels_.size()) == most_;
  ranges_known_ = (fixed || shape_.variable_length) && !(shape_.token_base && !families_known_) && !levels_.empty();
  int64_t first = shape_.token_base.value_or(0);
  for (size_t l = 0; l < levels_.size(); ++l) {
    const int64_t codes = shape_.codes_of(l);
    ranges_[l].first = first;
    ranges_[l].codes = codes > 0 ? codes : most_codes();
    if (shape_.token_base) first += codes;
  }
}

bool Sids::find_numbers(const std::vector<std::string_view>& parts, bool whole,
                        std::vector<std::string_view>& numbers) const {
  if (!ranges_known_ || parts.empty()) return false;
  if (!whole && all_known_) return take_numbers(parts[0], numbers);
  std::vector<std::string_view> tokens;
  if (!whole && split_sid(parts[0], tokens)) return false;  // where a token begins depends on digits
  return find_numbers_of(whole ? parts : tokens, numbers);
}

bool Sids::find_numbers_of(const std::vector<std::string_view>& tokens, std::vector<std::string_view>& numbers) const {
  const size_t begin = shape_.begin.size(), end = shape_.end.size();
  if (tokens.size() <= begin + end || tokens.size() - begin - end > levels_.size()) return false;
  numbers.clear();
  TokenParts split;
  for (size_t i = begin; i < tokens.size() - end; ++i) {
    const Level& level = levels_[i - begin];
    if (!level.known) {
      split.split(tokens[i]);
      numbers.insert(numbers.end(), split.numbers.begin(), split.numbers.end());
      continue;
    }
    const std::string_view token = level.family.plain() ? without_fraction(tokens[i]) : tokens[i];
    if (level.family.code(token) < 0) return false;
    numbers.push_back(token.substr(level.family.before.size()));
    numbers.back().remove_suffix(level.family.after.size());
  }
  return numbers.size() <= SIDBEAM_MAX_LEVELS;
}

// What a level has seen is noted at once: where this returns 0 the long way sees the same.
size_t Sids::try_numbers(const int64_t* numbers, size_t count, int32_t* codes) {
  if (!ranges_known_) return 0;
  if (!families_known_) return try_unknown(numbers, count, codes);
  if (count > ranges_.size() || (count < ranges_.size() && !shape_.variable_length)) return 0;
  for (size_t l = 0; l < count; ++l) {
    if (!try_number(ranges_[l], numbers[l], codes + l)) return 0;
  }
  return count;
}

inline bool Sids::try_number(Range& range, int64_t number, int32_t* code) {
  const int64_t value = number - range.first;
  if (static_cast<uint64_t>(value) >= static_cast<uint64_t>(range.codes)) return false;
  *code = static_cast<int32_t>(value);
  if (value < range.smallest) range.smallest = value;
  if (value > range.largest) range.largest = value;
  return true;
}

// While it is not known of some levels which number is the code.
size_t Sids::try_unknown(const int64_t* numbers, size_t count, int32_t* codes) {
  size_t l = 0;
  for (const int64_t* const end = numbers + count; numbers < end; ++l) {
    if (l == levels_.size()) return 0;
    codes[l] = 0;  // a placeholder
    if (levels_[l].known) {
      if (!try_number(ranges_[l], *numbers++, codes + l)) return 0;
    } else {
      if (!try_parts(levels_[l], numbers)) return 0;
      numbers += levels_[l].first.size();
    }
  }
  return shape_.variable_length || l == levels_.size() ? l : 0;
}

// As read_parts. A number that is not the first one for the first time goes the long way, which keeps its token.
bool Sids::try_parts(Level& level, const int64_t* numbers) {
  for (size_t i = 0; i < level.first.size(); ++i) {
    if (numbers[i] != level.first[i] && level.other[i].empty()) return false;
    level.largest_each[i] = std::max(level.largest_each[i], numbers[i]);
  }
  return true;
}

}  // namespace importer
