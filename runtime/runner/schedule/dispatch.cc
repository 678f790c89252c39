// Who goes next. Everything here is called under the lock.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runner/schedule/state.h"

namespace sidbeam::runner {

// After every change somebody looks.
void Runner::settle(Lock& lock) {
  while (changed_)
    if (call_worker(hand_out_turns())) post_worker(lock);
}

Formation Runner::look(int64_t time) {
  if (closing_) return {};  // nothing starts any more
  const Formation formation = form(queue_, time, config_.batch, formed_.data());
  if (formation.expired < 0) queue_.set_next_deadline(formation.next_deadline);
  return formation;
}

// Gives free lanes to callers of run() whose turn it is, and says what comes after them.
Formation Runner::hand_out_turns() {
  for (;;) {
    const int64_t time = now();
    const Formation formation = look(time);
    if (formation.expired >= 0 && queue_[formation.expired].alone) {
      refuse_turn(formation.expired, {SIDBEAM_DEADLINE_EXCEEDED, kTooLate});
    } else if (formation.batch > 0 && free_lane_ >= 0 && queue_[formed_[0]].alone) {
      Turn& turn = *entries_[static_cast<size_t>(formed_[0])].turn;
      turn.lane = take_lane(formation, time);
      turn.is = Is::kGranted;
      clock_->notify_one(turn.changed);
    } else {
      changed_ = false;
      return formation;
    }
  }
}

void Runner::insert(int32_t entry) {
  queue_.insert(entry, waiting_of(entries_[static_cast<size_t>(entry)]));
  changed_ = true;
}

void Runner::remove(int32_t entry) {
  queue_.remove(entry);
  changed_ = true;
}

// Its own thread calls done().
void Runner::refuse_turn(int32_t entry, const Outcome& outcome) {
  Turn& turn = *entries_[static_cast<size_t>(entry)].turn;
  turn.refusal = withdraw(entry, outcome);
  turn.is = Is::kRefused;
  clock_->notify_one(turn.changed);
}

// Sees to it that a worker looks at what has been submitted. True: the caller calls post_worker().
bool Runner::call_worker(const Formation& formation) {
  if (closing_ || queue_.submitted() == 0) return false;
  const bool can_run = formation.expired >= 0 || free_lane_ >= 0;
  if (looking_ > 0) {
    const bool due = can_run && (formation.expired >= 0 || formation.batch > 0);
    if (due || formation.look_again < timer_) clock_->notify_one(work_);
    return false;
  }
  if (config_.post == nullptr || !can_run) return false;
  ++looking_;
  ++workers_;
  ++inside_;
  return true;
}

// For the batch that was just formed.
int32_t Runner::take_lane(const Formation& formation, int64_t time) {
  const int32_t number = free_lane_;
  LaneState& lane = lanes_[static_cast<size_t>(number)];
  free_lane_ = lane.next;
  lane.count = 0;
  lane.started = time;
  for (int32_t i = 0; i < formation.batch; ++i) start(formed_[i], lane, time);
  ++stats_.batches;
  stats_.batch_requests += formation.batch;
  return number;
}

void Runner::start(int32_t number, LaneState& lane, int64_t time) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  stats_.batch_rows += queue_[number].rows;
  remove(number);
  entry.state = State::kRunning;
  entry.started = time;
  ++stats_.running;
  const sidbeam_request& request = entry.request;
  Job job;
  job.prompt.tokens = request.tokens;
  job.prompt.positions = request.positions;
  job.prompt.group = request.group;
  job.prompt.shared_kv = request.shared_kv;
  job.constraint = request.constraint;
  job.beams = request.beams;
  job.widths = request.widths;
  job.width_levels = request.width_levels;
  job.number = entry.number;
  job.context = request.context;
  job.seed = request.seed;
  job.sampling_request = request.sampling_request;
  job.cancelled = &entry.cancelled;
  lane.entries[lane.count] = number;
  lane.jobs[lane.count++] = job;
}

void Runner::give_lane_back(int32_t number) {
  LaneState& lane = lanes_[static_cast<size_t>(number)];
  busy_ += std::max<int64_t>(0, now() - lane.started);
  lane.count = 0;
  lane.next = free_lane_;
  free_lane_ = number;
  changed_ = true;
}

}  // namespace sidbeam::runner
