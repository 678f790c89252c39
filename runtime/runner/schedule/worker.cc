// Those who run lanes, and how requests end.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <system_error>

#include "runner/schedule/state.h"

namespace sidbeam::runner {

// The batch that a lane runs.
class Runner::Batch final : public Ended {
 public:
  Batch(Runner& runner, const LaneState& lane) : runner_(runner), lane_(lane) {}
  void ended(int32_t job, const Outcome& outcome) override { runner_.end_running(lane_.entries[job], outcome, lane_); }

 private:
  Runner& runner_;
  const LaneState& lane_;
};

void Runner::posted_work(void* runner) { static_cast<Runner*>(runner)->work(false); }

// A permanent worker ends when the runner closes, a posted one when there is nothing that it could run. Both have been
// counted before.
void Runner::work(bool permanent) {
  Lock lock(*this);
  while (!closing_) {
    const Formation formation = hand_out_turns();
    if (serve(lock, formation)) continue;
    if (!may_wait(permanent)) break;
    wait_for_work(lock, formation.look_again);
  }
  --looking_;
  if (--workers_ == 0) clock_->notify_all(idle_);
}

// Does one thing, if there is one to do; others look meanwhile.
bool Runner::serve(Lock& lock, const Formation& formation) {
  if (formation.expired >= 0) {
    const Ending ending = withdraw(formation.expired, {SIDBEAM_DEADLINE_EXCEEDED, kTooLate});
    --looking_;
    end(lock, ending);
    ++looking_;
    return true;
  }
  if (formation.batch == 0 || free_lane_ < 0) return false;
  const int32_t lane = take_lane(formation, now());
  --looking_;
  run_lane(lock, lane);
  ++looking_;
  return true;
}

// A host's thread waits only where a batch gathers that no other worker waits for.
bool Runner::may_wait(bool permanent) const {
  return permanent || (looking_ == 1 && queue_.submitted() > 0 && free_lane_ >= 0);
}

// One worker at a time watches the clock for all.
void Runner::wait_for_work(Lock& lock, int64_t until) {
  const bool watches = until < timer_;
  if (watches) timer_ = until;
  lock.wait(work_, watches ? until : kNever);
  if (watches) timer_ = kNever;
}

void Runner::run_lane(Lock& lock, int32_t number) {
  LaneState& lane = lanes_[static_cast<size_t>(number)];
  const int32_t count = lane.count;
  lock.unlock();
  {
    const WithinCallback within(this);
    Batch batch(*this, lane);
    lane.lane->run(lane.jobs.data(), count, batch);
  }
  lock.lock();
  give_lane_back(number);
}

void Runner::post_worker(Lock& lock) {
  lock.unlock();
  bool posted = false;
  {
    const WithinCallback within(this);
    posted = config_.post(config_.post_context, posted_work, this) != 0;
  }
  lock.lock();
  if (!posted) {
    --looking_;
    --workers_;
  }
  // Workers that there are will come back to look. If there is none, nobody would ever run what waits.
  if (!posted && workers_ == 0)
    end_all(lock, {SIDBEAM_BAD_STATE, "config.post did not take a task that runs the request"});
  if (--inside_ == 0 || workers_ == 0) clock_->notify_all(idle_);
}

void Runner::run(const sidbeam_request& request) {
  check_usable();
  if (WithinCallback::of(this)) fail(SIDBEAM_BAD_STATE, "run() within a callback of its runner");
  Turn turn;
  Lock lock(*this, std::defer_lock);
  const int32_t entry = take(lock, request, &turn);
  ++inside_;
  wait_turn(lock, entry, turn);
  if (turn.is == Is::kGranted) {
    run_lane(lock, turn.lane);
  } else if (turn.is == Is::kRefused) {
    end(lock, turn.refusal);
  }
  if (--inside_ == 0) clock_->notify_all(idle_);
  lock.unlock();
  if (turn.result.status != SIDBEAM_OK) fail(turn.result.status, "%s", turn.result.message);
}

// Until it may run, or has ended otherwise.
void Runner::wait_turn(Lock& lock, int32_t entry, Turn& turn) {
  const int64_t deadline = turn.is == Is::kWaiting ? queue_[entry].deadline : kNever;
  while (turn.is == Is::kWaiting || turn.is == Is::kEnding) {
    if (turn.is == Is::kWaiting && now() >= deadline) {
      refuse_turn(entry, {SIDBEAM_DEADLINE_EXCEEDED, kTooLate});
    } else {
      lock.wait(turn.changed, turn.is == Is::kWaiting ? deadline : kNever);
    }
  }
}

void Runner::start_threads() {
  threads_.reserve(static_cast<size_t>(lane_count_));
  try {
    for (int32_t i = 0; i < lane_count_; ++i) {
      {
        const Lock lock(*this);
        ++looking_;
        ++workers_;
      }
      threads_.push_back(clock_->start([](void* runner) { static_cast<Runner*>(runner)->work(true); }, this));
    }
  } catch (const std::system_error&) {
    const size_t started = threads_.size();
    {
      const Lock lock(*this);
      closing_ = true;
      clock_->notify_all(work_);
    }
    stop_threads();
    fail(SIDBEAM_OUT_OF_MEMORY, "the system gave %zu threads, expected %d (config.lanes)", started, lane_count_);
  }
}

void Runner::stop_threads() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  threads_.clear();
}

// A waiting request will not run.
void Runner::give_up(int32_t number) {
  remove(number);
  forget(number);
  entries_[static_cast<size_t>(number)].started = now();
}

// How a request ends that was given up; frees its entry.
Runner::Ending Runner::ending_of(int32_t number, const Outcome& outcome) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  count(outcome);
  Ending ending;
  ending.request = entry.request;
  ending.number = entry.number;
  ending.queued = entry.started - entry.arrival;
  ending.turn = entry.turn;
  ending.outcome = outcome;
  if (entry.turn != nullptr) entry.turn->is = Is::kEnding;
  put_back(number);
  return ending;
}

Runner::Ending Runner::withdraw(int32_t number, const Outcome& outcome) {
  give_up(number);
  return ending_of(number, outcome);
}

// Whatever has been submitted. All of it leaves the queue at once: whoever is behind it does not wait for its done().
void Runner::end_all(Lock& lock, const Outcome& outcome) {
  int32_t first = -1;
  for (int32_t i = queue_.size(); i-- > 0;) {
    const int32_t entry = queue_.entry(i);
    if (queue_[entry].alone) continue;
    give_up(entry);
    entries_[static_cast<size_t>(entry)].next = first;
    first = entry;
  }
  while (first >= 0) {
    const int32_t entry = first;
    first = entries_[static_cast<size_t>(entry)].next;
    end(lock, ending_of(entry, outcome));
  }
}

void Runner::end(Lock& lock, const Ending& ending) {
  lock.unlock();
  sidbeam_result result{};
  result.request = ending.number;
  result.queued_us = ending.queued / 1000;
  tell(ending.request, ending.outcome, result);
  lock.lock();
  leave();
  if (ending.turn == nullptr) return;
  ending.turn->result.status = ending.outcome.status;
  std::snprintf(ending.turn->result.message, sizeof ending.turn->result.message, "%s", ending.outcome.message);
  ending.turn->is = Is::kOver;
  clock_->notify_one(ending.turn->changed);
}

// Called by lanes, without the lock.
void Runner::end_running(int32_t number, const Outcome& outcome, const LaneState& lane) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  const int64_t time = now();
  sidbeam_result result{};
  result.request = entry.number;
  result.queued_us = (entry.started - entry.arrival) / 1000;
  result.run_us = (time - entry.started) / 1000;
  result.batch = lane.count;
  result.levels = lane.lane->levels();
  {
    const Lock lock(*this);
    forget(number);
    count(outcome);
    count(outcome.rounds);
    --stats_.running;
    if (outcome.status == SIDBEAM_OK) {
      queued_.add(entry.started - entry.arrival);
      ran_.add(time - entry.started);
      total_.add(time - entry.arrival);
    }
  }
  tell(entry.request, outcome, result);
  if (entry.turn != nullptr) {  // of this thread
    entry.turn->result.status = outcome.status;
    std::snprintf(entry.turn->result.message, sizeof entry.turn->result.message, "%s", outcome.message);
  }
  const Lock lock(*this);
  put_back(number);
  leave();
}

// Calls done(), and gives back the constraint that the request held.
void Runner::tell(const sidbeam_request& request, const Outcome& outcome, sidbeam_result result) const {
  result.struct_size = sizeof result;
  result.status = outcome.status;
  result.message = outcome.message;
  result.live = outcome.live;
  result.levels = lanes_[0].lane->levels();
  result.sids = outcome.sids;
  result.scores = outcome.scores;
  result.ordinals = outcome.ordinals;
  result.rounds = outcome.rounds.count;
  result.drafted_levels = outcome.rounds.drafted_levels;
  result.accepted_levels = outcome.rounds.accepted_levels;
  result.draft_us = outcome.rounds.draft_time / 1000;
  result.constraint = request.constraint;
  if (request.done != nullptr) {
    const WithinCallback within(this);
    request.done(request.context, &result);
  }
  sidbeam_constraint_release(request.constraint);
}

}  // namespace sidbeam::runner
