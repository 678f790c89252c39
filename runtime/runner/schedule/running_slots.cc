// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/running_slots.h"

#include <algorithm>

namespace sidbeam::runner {

RunningSlots::RunningSlots(const Allocator& allocator, LaneSession& session, Exchange& exchange)
    : session_(session), exchange_(exchange), beams_(session.host_beams()) {
  const int64_t requests = session.config().requests, beams = requests * session.config().beams;
  running_ = Buffer<int32_t>::zeroed(allocator, requests);
  complete_ = Buffer<int32_t>::zeroed(allocator, requests);
  rounds_ = Buffer<Rounds>::zeroed(allocator, requests);
  times_ = Buffer<int32_t>::zeroed(allocator, beams);
  sids_ = exchange.take<int32_t>(beams * session.levels());
  scores_ = Buffer<float>::zeroed(allocator, beams);
  ordinals_ = exchange.take<int64_t>(beams);
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

bool RunningSlots::is_complete(int32_t slot) const {
  return beams_.errors[slot] == 0 && (beams_.active[slot] == 0 || beams_.level[slot] == session_.levels());
}

void RunningSlots::read_items() {
  int32_t count = 0;
  for (int32_t i = 0; i < count_; ++i)
    if (is_complete(running_[i])) complete_[count++] = running_[i];
  if (count == 0) return;
  const int64_t rows = int64_t{count} * beams_.beams;
  session_.get_items(complete_.data(), count, sids_.there, ordinals_.there);
  exchange_.fetch(sids_, rows * session_.levels());
  exchange_.fetch(ordinals_, rows);
  exchange_.wait();
}

void RunningSlots::harvest() {
  read_items();
  end_where([this, place = 0](int32_t slot, Outcome& outcome) mutable {
    if (beams_.errors[slot] != 0) {
      outcome = kBadLogits;
      return true;
    }
    if (!is_complete(slot)) return false;
    outcome = found(slot, place++);
    return true;
  });
}

Outcome RunningSlots::found(int32_t slot, int32_t place) {
  const int64_t first = int64_t{place} * beams_.beams;
  std::copy_n(beams_.scores + int64_t{slot} * beams_.beams, beams_.live[slot], scores_.data() + first);
  return {SIDBEAM_OK,
          "",
          repeat_found(slot, place),
          sids_.here + first * session_.levels(),
          scores_.data() + first,
          ordinals_.here + first};
}

// Results move back to make room for the repeated ones; returns how many there are then.
int32_t RunningSlots::repeat_found(int32_t slot, int32_t place) {
  const int64_t first = int64_t{place} * beams_.beams, levels = session_.levels();
  const int32_t *times = times_.data() + int64_t{slot} * beams_.beams, live = beams_.live[slot];
  int32_t count = 0;
  for (int32_t m = 0; m < live; ++m) count += times[m];
  int64_t at = first + count;
  for (int64_t m = live; m-- > 0;) {
    const int64_t from = first + m;
    for (int32_t i = 0; i < times[m]; ++i) {
      if (--at == from) continue;
      std::copy_n(sids_.here + from * levels, levels, sids_.here + at * levels);
      scores_[at] = scores_[from];
      ordinals_.here[at] = ordinals_.here[from];
    }
  }
  return count;
}

}  // namespace sidbeam::runner
