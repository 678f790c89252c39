// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/running_slots.h"

namespace sidbeam::runner {

RunningSlots::RunningSlots(const Allocator& allocator, LaneSession& session)
    : session_(session), beams_(session.beams()) {
  const int64_t requests = session.config().requests, beams = requests * session.config().beams;
  running_ = Buffer<int32_t>::zeroed(allocator, requests);
  rounds_ = Buffer<Rounds>::zeroed(allocator, requests);
  sids_ = Buffer<int32_t>::zeroed(allocator, beams * session.levels());
  ordinals_ = Buffer<int64_t>::zeroed(allocator, beams);
}

void RunningSlots::start(const Job* jobs, int32_t count, Ended& ended) {
  count_ = session_.start(jobs, count, ended);
  for (int32_t slot = 0; slot < count_; ++slot) {
    running_[slot] = slot;
    rounds_[slot] = {};
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
  return {SIDBEAM_OK, "", beams_.live[slot], items.sids, beams_.scores + first, items.ordinals};
}

}  // namespace sidbeam::runner
