// What a survey has found of the families.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "failure.h"
#include "numbers.h"
#include "sids.h"

namespace importer {
namespace {

constexpr size_t kNone = ~size_t{0};

// Parts of a token that has been kept, as if it had just been split.
Family family_of(const std::string& token, size_t number) {
  TokenParts parts;
  parts.split(token);
  return parts.family(number);
}

}  // namespace

// The number of a level's tokens that is the code: the one that differs between them; kNone if they are all the same.
size_t Sids::code_number(const Level& level) const {
  size_t found = kNone;
  for (size_t i = 0; i < level.other.size(); ++i) {
    if (level.other[i].empty()) continue;
    if (found != kNone) fail_ambiguous(level, static_cast<size_t>(&level - levels_.data()), found, i);
    found = i;
  }
  return found;
}

// The number that is 0, 1, 2 ... (or 1, 2, 3 ...) at the levels 0, 1, 2 ..., and is therefore no code; kNone if not
// exactly one of them is, or if another is the same at all levels, as it is in a family's name: "<v2_0>", "<v2_1>".
size_t Sids::number_of_levels_number() const {
  size_t found = kNone;
  for (size_t i = 0; levels_.size() > 1 && i < levels_[0].first.size(); ++i) {
    const bool same = std::all_of(levels_.begin(), levels_.end(), [&](const Level& level) {
      return i < level.first.size() && level.first[i] == levels_[0].first[i];
    });
    if (same) return kNone;
    bool counts = levels_[0].first[i] <= 1;
    for (size_t l = 0; counts && l < levels_.size(); ++l) {
      const std::vector<int64_t>& first = levels_[l].first;
      counts = i < first.size() && first[i] == levels_[0].first[i] + static_cast<int64_t>(l);
    }
    if (!counts) continue;
    if (found != kNone) return kNone;
    found = i;
  }
  return found;
}

void Sids::finish(Shape& shape) const {
  size_t agreed = kNone;  // the number that is the code
  for (const Level& level : levels_) {
    const size_t number = level.known ? kNone : code_number(level);
    if (number == kNone) continue;
    if (agreed != kNone && agreed != number) {
      fail_ambiguous(level, static_cast<size_t>(&level - levels_.data()), agreed, number);
    }
    agreed = number;
  }
  if (agreed == kNone) {
    const size_t level_number = number_of_levels_number();
    if (level_number != kNone && levels_[0].first.size() == 2) agreed = 1 - level_number;
  }
  shape.families.clear();
  if (shape.levels == 0) shape.levels = static_cast<int32_t>(levels_.size());
  const bool found_codes = shape.codes.empty();
  if (shape.codes.size() == 1) shape.codes.assign(static_cast<size_t>(shape.levels), shape.codes[0]);
  for (size_t l = 0; l < static_cast<size_t>(shape.levels); ++l) {
    if (l >= levels_.size()) {  // no SID is so long
      shape.families.emplace_back();
      if (found_codes) shape.codes.push_back(1);
      continue;
    }
    const Level& level = levels_[l];
    if (!level.known && (agreed == kNone || agreed >= level.first.size())) fail_ambiguous(level, l, 0, 1);
    shape.families.push_back(level.known ? level.family : family_of(level.token, agreed));
    const int64_t largest = level.known ? ranges_[l].largest : level.largest_each[agreed];
    const int64_t most = SIDBEAM_MAX_CODES - (shape.variable_length ? 1 : 0);
    if (largest >= most) {
      throw Failure("'" + options_.input + "': code " + std::to_string(largest) + " at level " + std::to_string(l) +
                    ", expected 0.." + std::to_string(most - 1));
    }
    if (found_codes) shape.codes.push_back(static_cast<int32_t>(std::max<int64_t>(largest, 0)) + 1);
  }
  shape.begin = shape_.begin;
  shape.end = shape_.end;
  shape.framed = true;
}

void Sids::fail_ambiguous(const Level& level, size_t position, size_t one, size_t other) const {
  const auto candidate = [&](size_t number) { return "'" + family_of(level.token, number).text() + "'"; };
  std::string differ;
  for (const std::string& token : level.other) {
    if (!token.empty() && differ.find("'" + token + "'") == differ.npos) differ += " and '" + token + "'";
  }
  throw Failure("'" + options_.input + "': level " + std::to_string(position) + " has '" + level.token + "' (" +
                level.row + ")" + differ + ": which number is the code cannot be told; " +
                options_.named("token_pattern") + " says so for each level, such as " +
                candidate(std::max(one, other)) + " or " + candidate(std::min(one, other)));
}

bool Sids::look_like_token_ids() const {
  constexpr int64_t kLeast = 1024;  // smaller ones are taken for codes
  int64_t before = kLeast - 1;
  for (size_t l = 0; l < levels_.size(); ++l) {
    if (!levels_[l].known || !levels_[l].family.plain() || ranges_[l].smallest <= before) return false;
    before = ranges_[l].largest;
  }
  return levels_.size() > 1;
}

}  // namespace importer
