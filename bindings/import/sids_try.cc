// SIDs like those before them, which nearly all are: without the pieces and messages that others need.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/base.h>

#include <algorithm>

#include "sids.h"

namespace importer {

// After a record that came the long way, and may have taught something.
void Sids::prepare_tries() {
  const bool known = std::all_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.known; });
  all_known_ = known && shape_.framed && !levels_.empty();
  const bool fixed = !shape_.variable_length && static_cast<int32_t>(levels_.size()) == most_;
  if (!known || !fixed || shape_.token_base) return;
  all_plain_ = std::all_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.family.plain(); });
  limits_.clear();
  for (size_t l = 0; l < levels_.size(); ++l) {
    limits_.push_back(shape_.codes_of(l) > 0 ? shape_.codes_of(l) : int64_t{SIDBEAM_MAX_CODES});
  }
}

bool Sids::try_codes(Batch& batch, const int64_t* codes, size_t count) {
  for (size_t l = 0; l < count; ++l) {
    if (static_cast<uint64_t>(codes[l]) >= static_cast<uint64_t>(limits_[l])) return false;
  }
  const size_t at = batch.codes.size();
  batch.codes.resize(at + count);
  for (size_t l = 0; l < count; ++l) {
    batch.codes[at + l] = static_cast<int32_t>(codes[l]);
    levels_[l].smallest = std::min(levels_[l].smallest, codes[l]);
    levels_[l].largest = std::max(levels_[l].largest, codes[l]);
  }
  batch.lengths.push_back(static_cast<int32_t>(count));
  ++sids_;
  return true;
}

bool Sids::try_numbers(Batch& batch, const int64_t* codes, size_t count) {
  return all_plain_ && count == limits_.size() && pieces_.empty() && try_codes(batch, codes, count);
}

bool Sids::try_tokens(Batch& batch, const std::string_view* tokens, size_t count) {
  const size_t levels = limits_.size(), begin = shape_.begin.size(), end = shape_.end.size();
  if (!all_known_ || levels == 0 || count != begin + levels + end || !pieces_.empty()) return false;
  if (!std::equal(shape_.begin.begin(), shape_.begin.end(), tokens)) return false;
  if (!std::equal(shape_.end.begin(), shape_.end.end(), tokens + begin + levels)) return false;
  int64_t codes[SIDBEAM_MAX_LEVELS];
  for (size_t l = 0; l < levels; ++l) codes[l] = levels_[l].family.code(tokens[begin + l]);
  return try_codes(batch, codes, levels);
}

// A string of tokens of known families, taken off from left to right.
bool Sids::try_text(Batch& batch, std::string_view text) {
  const size_t levels = limits_.size();
  if (!all_known_ || levels == 0 || !pieces_.empty()) return false;
  int64_t codes[SIDBEAM_MAX_LEVELS];
  return take_codes(text, codes) == levels && try_codes(batch, codes, levels);
}

}  // namespace importer
