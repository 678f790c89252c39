// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/running_slots.h"

#include <algorithm>

namespace sidbeam::runner {

RunningSlots::RunningSlots(const Allocator& allocator, LaneSession& session)
    : session_(session), beams_(session.beams()) {
  const int64_t requests = session.config().requests, beams = requests * session.config().beams;
  running_ = Buffer<int32_t>::zeroed(allocator, requests);
  rounds_ = Buffer<Rounds>::zeroed(allocator, requests);
  times_ = Buffer<int32_t>::zeroed(allocator, beams);
  sids_ = Buffer<int32_t>::zeroed(allocator, beams * session.levels());
  scores_ = Buffer<float>::zeroed(allocator, beams);
  ordinals_ = Buffer<int64_t>::zeroed(allocator, beams);
}

void RunningSlots::start(const Job* jobs, int32_t count, Ended& ended) {
  count_ = session_.start(jobs, count, ended);
  for (int32_t slot = 0; slot < count_; ++slot) {
    running_[slot] = slot;
    rounds_[slot] = {};
    std::fill_n(times_.data() + int64_t{slot} * beams_.beams, beams_.beams, 1);
  }
}

void RunningSlots::end_all(const Outcome& failed) {
  end_where([&](int32_t, Outcome& outcome) {
    outcome = failed;
    return true;
  });
}

void RunningSlots::drop_cancelled() {
  end_where([this](int32_t slot, Outcome& outcome) {
    outcome = kCancelled;
    return session_.is_cancelled(slot);
  });
}

void RunningSlots::harvest() {
  end_where([this](int32_t slot, Outcome& outcome) {
    if (beams_.errors[slot] != 0) {
      outcome = kBadLogits;
      return true;
    }
    if (beams_.active[slot] > 0 && beams_.level[slot] < session_.levels()) return false;
    outcome = found(slot);
    return true;
  });
}

Outcome RunningSlots::found(int32_t slot) {
  const int64_t first = int64_t{slot} * beams_.beams;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals_.data() + first;
  items.sids = sids_.data() + first * session_.levels();
  if (sidbeam_session_get_items(session_.get(), &slot, 1, &items, nullptr) != SIDBEAM_OK)
    return {SIDBEAM_INTERNAL, "the session did not give its items"};
  std::copy_n(beams_.scores + first, beams_.live[slot], scores_.data() + first);
  return {SIDBEAM_OK, "", repeat_found(slot), items.sids, scores_.data() + first, items.ordinals};
}

// Results move back to make room for the repeated ones; returns how many there are then.
int32_t RunningSlots::repeat_found(int32_t slot) {
  const int64_t first = int64_t{slot} * beams_.beams, levels = session_.levels();
  const int32_t *times = times_.data() + first, live = beams_.live[slot];
  int32_t count = 0;
  for (int32_t m = 0; m < live; ++m) count += times[m];
  int64_t at = first + count;
  for (int64_t m = live; m-- > 0;) {
    const int64_t from = first + m;
    for (int32_t i = 0; i < times[m]; ++i) {
      if (--at == from) continue;
      std::copy_n(sids_.data() + from * levels, levels, sids_.data() + at * levels);
      scores_[at] = scores_[from];
      ordinals_[at] = ordinals_[from];
    }
  }
  return count;
}

}  // namespace sidbeam::runner
