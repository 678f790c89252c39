// The slots of a lane that have not ended, and how they end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/models/exchange.h"
#include "runner/schedule/lane_session.h"
#include "support/memory.h"

namespace sidbeam::runner {

class RunningSlots {
 public:
  // Both outlive it; the session's host_beams() must be those of its last step in each call.
  RunningSlots(const Allocator& allocator, LaneSession& session, Exchange& exchange);

  // Starts a batch: all jobs that can start run.
  void start(const Job* jobs, int32_t count, Ended& ended);
  int32_t count() const { return count_; }
  const int32_t* slots() const { return running_.data(); }  // [count] rising
  int32_t operator[](int32_t i) const { return running_[i]; }
  // What the outcome of a slot will say; zeros at the start.
  Rounds& rounds(int32_t slot) { return rounds_[slot]; }
  // A beam of a slot stands for so many of the results, which are M at most.
  void repeat(int32_t slot, int32_t beam, int32_t times) { times_[int64_t{slot} * beams_.beams + beam] = times; }
  // Without what the exchange holds.
  int64_t memory_bytes() const {
    return running_.bytes() + complete_.bytes() + rounds_.bytes() + times_.bytes() + scores_.bytes();
  }

  // Ends the running slots for which `outcome_of` sets one; the others stay in order.
  template <class OutcomeOf>  // bool(int32_t slot, Outcome& outcome)
  void end_where(OutcomeOf outcome_of);
  void end_all(const Outcome& outcome);
  void drop_cancelled();
  // Slots that are complete, in error or without candidates end.
  void harvest();

 private:
  bool is_complete(int32_t slot) const;
  // What those of the running slots that are complete have found.
  void read_items();
  Outcome found(int32_t slot, int32_t place);
  int32_t repeat_found(int32_t slot, int32_t place);

  LaneSession& session_;
  Exchange& exchange_;
  const sidbeam_beams& beams_;
  int32_t count_ = 0;
  Buffer<int32_t> running_;   // [requests]
  Buffer<int32_t> complete_;  // [requests] slots whose results are at the same place of the arrays below
  Buffer<Rounds> rounds_;     // [requests]
  Buffer<int32_t> times_;     // [requests, M]
  // Of the results.
  Exchanged<int32_t> sids_;      // [requests, M, L]
  Buffer<float> scores_;         // [requests, M]
  Exchanged<int64_t> ordinals_;  // [requests, M]
};

template <class OutcomeOf>
void RunningSlots::end_where(OutcomeOf outcome_of) {
  int32_t kept = 0;
  const int32_t count = count_;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t slot = running_[i];
    Outcome outcome;
    if (outcome_of(slot, outcome)) {
      outcome.rounds = rounds_[slot];
      session_.end(slot, outcome);
      session_.stop(&slot, 1);
    } else {
      running_[kept++] = slot;
    }
  }
  count_ = kept;
}

}  // namespace sidbeam::runner
