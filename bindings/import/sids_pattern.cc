// SIDs of records like those before them, which nearly all are: their codes come from a pattern, without the pieces and
// messages that others need.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/base.h>

#include <algorithm>

#include "sids.h"

namespace importer {

// After a record that came the long way, and may have taught something.
void Sids::prepare_patterns() {
  const bool known = std::all_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.known; });
  all_known_ = known && shape_.framed && !levels_.empty();
  const bool fixed = !shape_.variable_length && static_cast<int32_t>(levels_.size()) == most_;
  limits_.clear();
  if (!known || !(fixed || shape_.variable_length)) return;
  int64_t first = shape_.token_base.value_or(0);
  for (size_t l = 0; l < levels_.size(); ++l) {
    const int64_t codes = shape_.codes_of(l);
    limits_.push_back({first, codes > 0 ? codes : most_codes()});
    if (shape_.token_base) first += codes;
  }
}

bool Sids::find_numbers(const std::vector<std::string_view>& parts, bool whole,
                        std::vector<std::string_view>& numbers) const {
  if (limits_.empty() || parts.empty()) return false;
  if (!whole) return parts.size() == 1 && take_numbers(parts[0], numbers);
  const size_t begin = shape_.begin.size(), end = shape_.end.size();
  if (parts.size() <= begin + end || parts.size() - begin - end > levels_.size()) return false;
  numbers.clear();
  for (size_t i = begin; i < parts.size() - end; ++i) {
    const Family& family = levels_[i - begin].family;
    if (family.code(parts[i]) < 0) return false;
    numbers.push_back(parts[i].substr(family.before.size()));
    numbers.back().remove_suffix(family.after.size());
  }
  return true;
}

bool Sids::try_codes(Batch& batch, const int64_t* codes, size_t count) {
  if (count > limits_.size() || (!shape_.variable_length && count != limits_.size())) return false;
  for (size_t l = 0; l < count; ++l) {
    if (static_cast<uint64_t>(codes[l] - limits_[l].first) >= static_cast<uint64_t>(limits_[l].codes)) return false;
  }
  const size_t at = batch.codes.size();
  batch.codes.resize(at + count);
  for (size_t l = 0; l < count; ++l) {
    const int64_t code = codes[l] - limits_[l].first;
    batch.codes[at + l] = static_cast<int32_t>(code);
    levels_[l].smallest = std::min(levels_[l].smallest, code);
    levels_[l].largest = std::max(levels_[l].largest, code);
  }
  batch.lengths.push_back(static_cast<int32_t>(count));
  return true;
}

}  // namespace importer
