// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/relaxed_levels.h"

#include <algorithm>

#include "support/error.h"

namespace sidbeam::runner {

RelaxedLevels::RelaxedLevels(const Allocator& allocator, const LaneSession& target, const LaneSession& draft)
    : draft_(draft),
      width_(draft.config().beams),
      levels_(draft.levels()),
      most_nodes_(int64_t{width_} + target.config().beams) {
  for (int32_t level = 0; level < levels_; ++level) {
    offsets_[level] = of_slot_;
    of_slot_ += most_extensions(level);
    most_ = std::max(most_, most_extensions(level));
  }
  const int64_t requests = draft.config().requests, levels = requests * levels_;
  nodes_ = Buffer<int32_t>::zeroed(allocator, levels);
  fed_ = Buffer<int32_t>::zeroed(allocator, levels);
  draft_counts_ = Buffer<int32_t>::zeroed(allocator, levels);
  firsts_ = Buffer<int64_t>::zeroed(allocator, levels * (most_nodes_ + 1));
  sources_ = Buffer<int64_t>::zeroed(allocator, levels * most_nodes_);
  drafts_ = Buffer<int64_t>::zeroed(allocator, levels * width_);
  codes_ = Buffer<int32_t>::zeroed(allocator, checked_bytes(requests, of_slot_));
  draft_log_probs_ = Buffer<float>::zeroed(allocator, checked_bytes(requests, of_slot_));
  different_ = Buffer<int64_t>::zeroed(allocator, width_);
}

int64_t RelaxedLevels::memory_bytes() const {
  return nodes_.bytes() + fed_.bytes() + draft_counts_.bytes() + firsts_.bytes() + sources_.bytes() + drafts_.bytes() +
         codes_.bytes() + draft_log_probs_.bytes() + different_.bytes();
}

// There are no more nodes that must be fed than prefixes. A session gives a beam one more child than there are codes,
// which is the end, or what an index that is damaged has there.
int64_t RelaxedLevels::most_extensions(int32_t level) const {
  int64_t fed = 1;
  for (int32_t l = 0; l < level && fed < width_; ++l) fed *= draft_.codes(l) + 1;
  return std::min<int64_t>(fed, width_) * (draft_.codes(level) + 1) + most_nodes_;
}

RelaxedLevel RelaxedLevels::of(int32_t slot, int32_t level) {
  const int64_t at = int64_t{slot} * levels_ + level, first = slot * of_slot_ + offsets_[level];
  return {level,
          draft_.codes(level),
          &nodes_[at],
          &fed_[at],
          &draft_counts_[at],
          firsts_.data() + at * (most_nodes_ + 1),
          sources_.data() + at * most_nodes_,
          drafts_.data() + at * width_,
          codes_.data() + first,
          draft_log_probs_.data() + first};
}

void RelaxedLevels::clear(int32_t slot) {
  std::fill_n(nodes_.data() + int64_t{slot} * levels_, levels_, -1);
  std::fill_n(draft_counts_.data() + int64_t{slot} * levels_, levels_, 0);
}

void RelaxedLevels::list(int32_t slot, int32_t number) {
  const RelaxedLevel level = of(slot, number);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_children(draft_.get(), &slot, 1, 0, most_extensions(number), level.firsts, level.codes,
                                        nullptr, &error),
               error);
  *level.nodes = *level.fed = draft_.beams().live[slot];
  const auto first_column = static_cast<int32_t>(draft_.choice_column(number, 0));
  for (int64_t i = 0; i < level.extensions(); ++i) level.codes[i] -= first_column;
  if (number == 0 || *of(slot, number - 1).nodes < 0) return;
  const RelaxedLevel before = of(slot, number - 1);
  find_sources(level, before, slot);
  const int32_t count = different_drafts(before, different_.data());
  for (int32_t i = 0; i < count; ++i)
    if (before.has_ended(different_[i])) add_ended(level, different_[i], before.draft[different_[i]]);
}

// The beams' codes and parents say which extensions of the level before they are.
void RelaxedLevels::find_sources(const RelaxedLevel& level, const RelaxedLevel& before, int32_t slot) const {
  const sidbeam_beams& beams = draft_.beams();
  const int64_t first = int64_t{slot} * width_;
  for (int32_t m = 0; m < *level.fed; ++m) {
    const int64_t* range = before.firsts + beams.parents[first + m];
    level.sources[m] =
        std::lower_bound(before.codes + range[0], before.codes + range[1], beams.codes[first + m]) - before.codes;
  }
}

void add_ended(const RelaxedLevel& level, int64_t source, float draft) {
  const int32_t node = (*level.nodes)++;
  const int64_t extension = level.firsts[node];
  level.firsts[node + 1] = extension + 1;
  level.sources[node] = source;
  level.codes[extension] = -1;
  level.draft[extension] = draft;
}

int32_t different_drafts(const RelaxedLevel& level, int64_t* drafts) {
  std::copy_n(level.drafts, *level.draft_count, drafts);
  std::sort(drafts, drafts + *level.draft_count);
  return static_cast<int32_t>(std::unique(drafts, drafts + *level.draft_count) - drafts);
}

}  // namespace sidbeam::runner
