// Requests as they are taken, known by number, and counted.
// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/runner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runner/schedule/state.h"

namespace sidbeam::runner {
namespace {

// Saturates at kNever.
int64_t later(int64_t time, int64_t us) { return us > (kNever - time) / 1000 ? kNever : time + us * 1000; }

}  // namespace

int32_t most_requests(const RunnerConfig& config, int64_t lanes) {
  const int64_t requests = config.queue_requests + lanes * config.batch.requests;
  check_range("config.queue_requests + config.lanes * config.batch_requests", requests, 2, INT32_MAX / 2);
  return static_cast<int32_t>(requests);
}

const WithinCallback*& WithinCallback::innermost() {
  thread_local const WithinCallback* of_this_thread = nullptr;
  return of_this_thread;
}

WithinCallback::WithinCallback(const Runner* runner) : runner_(runner), outer_(innermost()) { innermost() = this; }
WithinCallback::~WithinCallback() { innermost() = outer_; }

bool WithinCallback::of(const Runner* runner) {
  for (const WithinCallback* at = innermost(); at != nullptr; at = at->outer_)
    if (at->runner_ == runner) return true;
  return false;
}

Runner::Runner(const RunnerConfig& config, std::vector<std::unique_ptr<Lane>> lanes)
    : config_(config),
      clock_(config.clock != nullptr ? config.clock : &steady_clock()),
      created_(now()),
      entry_count_(most_requests(config, static_cast<int64_t>(lanes.size()))),
      queue_(config.allocator, config.queue_requests, entry_count_),
      entries_(std::make_unique<Entry[]>(static_cast<size_t>(entry_count_))),
      tokens_(Buffer<int32_t>::zeroed(config.allocator, checked_bytes(entry_count_, config.prompt_tokens))),
      widths_(Buffer<int32_t>::zeroed(config.allocator, checked_bytes(entry_count_, config.levels))),
      buckets_(config.allocator, static_cast<int64_t>(std::bit_ceil(static_cast<uint32_t>(entry_count_)))),
      formed_(config.allocator, config.batch.requests),
      lane_count_(static_cast<int32_t>(lanes.size())),
      lanes_(std::make_unique<LaneState[]>(lanes.size())) {
  std::fill(buckets_.begin(), buckets_.end(), -1);
  for (int32_t entry = entry_count_; entry-- > 0;) put_back(entry);
  stats_.lanes = lane_count_;
  stats_.memory_bytes = queue_.memory_bytes() + tokens_.bytes() + widths_.bytes() + buckets_.bytes() + formed_.bytes() +
                        entry_count_ * static_cast<int64_t>(sizeof(Entry)) + static_cast<int64_t>(sizeof(Runner));
  for (int32_t i = lane_count_; i-- > 0;) {
    LaneState& lane = lanes_[static_cast<size_t>(i)];
    lane.lane = std::move(lanes[static_cast<size_t>(i)]);
    lane.entries = Buffer<int32_t>(config.allocator, config.batch.requests);
    lane.jobs = Buffer<Job>::zeroed(config.allocator, config.batch.requests);
    stats_.memory_bytes += lane.lane->memory_bytes() + lane.entries.bytes() + lane.jobs.bytes();
    lane.next = free_lane_;
    free_lane_ = i;
  }
  if (config.lane_threads) start_threads();
}

Runner::~Runner() = default;

void Runner::destroy(Runner* runner) {
  if (runner == nullptr || WithinCallback::of(runner) || runner->process_ != this_process()) return;
  runner->close();
  delete runner;
}

void Runner::check_usable() const {
  if (process_ != this_process())
    fail(SIDBEAM_BAD_STATE, "the runner was made before a fork, expected one of this process");
}

// What the entry holds of a request when the call is over: its tokens, too, unless run() waits until they are used.
void Runner::copy_request(int32_t number, const sidbeam_request& request, bool tokens_too) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  entry.request = request;
  if (tokens_too) {
    int32_t* copy = tokens_.data() + number * config_.prompt_tokens;
    std::copy_n(request.tokens, request.positions * request.group, copy);
    entry.request.tokens = copy;
  }
  if (request.width_levels > 0) {
    int32_t* copy = widths_.data() + int64_t{number} * config_.levels;
    for (int32_t l = 0; l < request.width_levels; ++l)
      copy[l] = request.widths[l] > 0 ? request.widths[l] : request.beams;
    entry.request.widths = copy;
  }
  if (request.shared_kv != nullptr) {
    entry.shared_kv = *request.shared_kv;
    entry.request.shared_kv = &entry.shared_kv;
  }
}

int32_t Runner::take(Lock& lock, const sidbeam_request& request, Turn* turn) {
  const int64_t tokens = request.positions * request.group;
  check_range("request.positions * request.group", tokens, 0, config_.prompt_tokens);
  if (request.deadline_us < 0)
    fail(SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is %lld, expected at least 0: it has passed",
         static_cast<long long>(request.deadline_us));
  lock.lock();
  if (closing_ || queue_.full() || free_entry_ < 0) {
    const bool closed = closing_;
    if (!closed) ++stats_.refused;
    lock.unlock();
    if (closed) fail(SIDBEAM_BAD_STATE, "the runner is closed");
    fail(SIDBEAM_QUEUE_FULL, "%d requests are waiting, expected fewer (config.queue_requests)", config_.queue_requests);
  }
  const int32_t number = free_entry_;
  Entry& entry = entries_[static_cast<size_t>(number)];
  free_entry_ = entry.next;
  copy_request(number, request, turn == nullptr && tokens > 0);
  sidbeam_constraint_retain(request.constraint);
  entry.number = ++last_number_;
  entry.arrival = now();
  entry.cancelled.store(false, std::memory_order_relaxed);
  entry.turn = turn;
  entry.state = State::kWaiting;
  int32_t& bucket = buckets_[entry.number & (buckets_.size() - 1)];
  entry.next = bucket;
  bucket = number;
  insert(number);
  ++stats_.submitted;
  ++outstanding_;
  return number;
}

Waiting Runner::waiting_of(const Entry& entry) const {
  const sidbeam_request& request = entry.request;
  Waiting waiting;
  waiting.number = entry.number;
  waiting.arrival = entry.arrival;
  if (request.deadline_us > 0) waiting.deadline = later(entry.arrival, request.deadline_us);
  waiting.rows = request.positions + config_.decode_rows;
  if (request.shared_kv != nullptr) waiting.rows += request.shared_kv->length;
  waiting.priority = request.priority;
  waiting.alone = entry.turn != nullptr;
  return waiting;
}

int32_t Runner::find(int64_t number) const {
  int32_t at = buckets_[number & (buckets_.size() - 1)];
  while (at >= 0 && entries_[static_cast<size_t>(at)].number != number) at = entries_[static_cast<size_t>(at)].next;
  return at;
}

// Nobody finds it by its number any more.
void Runner::forget(int32_t entry) {
  Entry& forgotten = entries_[static_cast<size_t>(entry)];
  int32_t* link = &buckets_[forgotten.number & (buckets_.size() - 1)];
  while (*link != entry) link = &entries_[static_cast<size_t>(*link)].next;
  *link = forgotten.next;
  forgotten.state = State::kEnding;
}

void Runner::put_back(int32_t entry) {
  entries_[static_cast<size_t>(entry)].state = State::kFree;
  entries_[static_cast<size_t>(entry)].next = free_entry_;
  free_entry_ = entry;
}

int64_t Runner::submit(const sidbeam_request& request) {
  check_usable();
  if (!config_.lane_threads && config_.post == nullptr)
    fail(SIDBEAM_BAD_STATE, "submit() needs config.lane_threads or config.post; sidbeam_runner_run() does not");
  Lock lock(*this, std::defer_lock);
  return entries_[static_cast<size_t>(take(lock, request, nullptr))].number;
}

void Runner::cancel(int64_t number) {
  check_usable();
  Lock lock(*this);
  if (number < 1 || number > last_number_) {
    const int64_t last = last_number_;
    lock.unlock();
    if (last == 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "id is %lld, expected a request's number, but none has been taken yet",
           static_cast<long long>(number));
    check_range("id", number, 1, last);
  }
  const int32_t entry = find(number);
  if (entry < 0) return;
  if (entries_[static_cast<size_t>(entry)].state == State::kRunning) {
    entries_[static_cast<size_t>(entry)].cancelled.store(true, std::memory_order_relaxed);
    return;
  }
  end(lock, withdraw(entry, {SIDBEAM_CANCELLED, "the request was cancelled while it waited"}));
}

bool Runner::drain(int64_t timeout_us) {
  check_usable();
  if (WithinCallback::of(this)) fail(SIDBEAM_BAD_STATE, "drain() within a callback of its runner");
  check_range("timeout_us", timeout_us, 0, kNever);
  Lock lock(*this);
  const int64_t until = timeout_us == 0 ? kNever : later(now(), timeout_us);
  while (outstanding_ > 0 && (until == kNever || now() < until)) lock.wait(idle_, until);
  return outstanding_ == 0;
}

void Runner::close() {
  check_usable();
  if (WithinCallback::of(this)) fail(SIDBEAM_BAD_STATE, "close() within a callback of its runner");
  const Outcome closed = {SIDBEAM_CANCELLED, "the runner was closed while the request waited"};
  Lock lock(*this);
  if (closing_) {
    while (!closed_) lock.wait(idle_, kNever);
    return;
  }
  closing_ = true;
  for (int32_t i = queue_.size(); i-- > 0;)
    if (queue_[queue_.entry(i)].alone) refuse_turn(queue_.entry(i), closed);
  end_all(lock, closed);
  clock_->notify_all(work_);
  while (outstanding_ > 0 || inside_ > 0 || workers_ > 0) lock.wait(idle_, kNever);
  lock.unlock();
  stop_threads();
  lock.lock();
  closed_ = true;
  clock_->notify_all(idle_);
}

void Runner::count(const Outcome& outcome) {
  switch (outcome.status) {
    case SIDBEAM_OK:
      ++stats_.finished;
      break;
    case SIDBEAM_CANCELLED:
      ++stats_.cancelled;
      break;
    case SIDBEAM_DEADLINE_EXCEEDED:
      ++stats_.expired;
      break;
    default:
      ++stats_.failed;
  }
}

void Runner::count(const Rounds& rounds) {
  stats_.rounds += rounds.count;
  stats_.round_levels += rounds.levels;
  stats_.drafted_levels += rounds.drafted_levels;
  stats_.accepted_levels += rounds.accepted_levels;
  stats_.nodes += rounds.nodes;
  draft_ += rounds.draft_time;
}

void Runner::leave() {
  if (--outstanding_ == 0) clock_->notify_all(idle_);
}

sidbeam_runner_stats Runner::stats() const {
  check_usable();
  const int64_t time = now();
  const std::lock_guard lock(mutex_);
  sidbeam_runner_stats stats = stats_;
  stats.queued = queue_.size();
  stats.busy_us = busy_ / 1000;
  stats.draft_us = draft_ / 1000;
  stats.up_us = (time - created_) / 1000;
  for (int32_t i = 0; i < lane_count_; ++i) {
    const LaneState& lane = lanes_[static_cast<size_t>(i)];
    if (lane.count > 0) stats.busy_us += std::max<int64_t>(0, time - lane.started) / 1000;
  }
  const int64_t permille[4] = {500, 900, 990, 999};
  for (int32_t i = 0; i < 4; ++i) {
    stats.queued_us[i] = queued_.percentile(permille[i], 1000) / 1000;
    stats.run_us[i] = ran_.percentile(permille[i], 1000) / 1000;
    stats.total_us[i] = total_.percentile(permille[i], 1000) / 1000;
  }
  return stats;
}

}  // namespace sidbeam::runner
