// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/drawn_sequences.h"

#include <algorithm>
#include <numeric>

namespace sidbeam::runner {

DrawnSequences::DrawnSequences(const Allocator& allocator, LaneSession& session)
    : session_(session), most_(session.config().beams), levels_(session.levels()) {
  const int64_t codes = int64_t{most_} * levels_;
  codes_ = Buffer<Code>::zeroed(allocator, checked_bytes(session.config().requests, codes));
  next_ = Buffer<Code>::zeroed(allocator, codes);
  beams_ = Buffer<int32_t>::zeroed(allocator, most_);
  rows_ = Buffer<int32_t>::zeroed(allocator, most_);
  std::iota(rows_.begin(), rows_.end(), 0);
}

void DrawnSequences::carry(int32_t slot, int32_t i, int32_t parent) {
  std::copy_n(codes_.data() + (int64_t{slot} * most_ + parent) * levels_, levels_, next_.data() + int64_t{i} * levels_);
}

void DrawnSequences::take(int32_t slot, int32_t level, int32_t i, int32_t parent, int32_t code, float log_prob) {
  carry(slot, i, parent);
  next_[int64_t{i} * levels_ + level] = {code, log_prob};
}

void DrawnSequences::replace(int32_t slot, int32_t count) {
  std::copy_n(next_.data(), int64_t{count} * levels_, codes_.data() + int64_t{slot} * most_ * levels_);
}

const int32_t* DrawnSequences::lead(int32_t slot, int32_t count, Choices& choices) {
  const sidbeam_beams& session = session_.beams();
  const int64_t first = int64_t{slot} * most_;
  session_.restart(slot);
  std::fill_n(beams_.data(), count, 0);
  for (int32_t level = 0; level < levels_ && session.active[slot] > 0; ++level) {
    choices.clear();
    // A beam that has ended has a row, too, which is not read.
    for (int32_t i = 0; i < count; ++i) {
      const Code& next = codes_[(first + i) * levels_ + level];
      choices.take(beams_[i], session_.choice_column(level, next.code), next.log_prob);
    }
    session_.step(&slot, 1, choices.rows(most_), rows_.data());
    for (int32_t i = 0; i < count; ++i)
      beams_[i] = beam_after(slot, beams_[i], codes_[(first + i) * levels_ + level].code);
  }
  return beams_.data();
}

// The beam that continues `parent`, by a code unless that has ended. There is one; in an index that is damaged the last
// beam stands for it.
int32_t DrawnSequences::beam_after(int32_t slot, int32_t parent, int32_t code) const {
  const int64_t first = int64_t{slot} * most_;
  const int32_t *parents = session_.beams().parents + first, *codes = session_.beams().codes + first;
  int32_t m = 0;
  while (m + 1 < session_.beams().live[slot] && (parents[m] != parent || (codes[m] >= 0 && codes[m] != code))) ++m;
  return m;
}

}  // namespace sidbeam::runner
