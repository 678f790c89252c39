// The queue, the lanes, and who runs them: threads of the runner, tasks that the host is asked to run, or callers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runner/schedule/clock.h"
#include "runner/schedule/histogram.h"
#include "runner/schedule/lane.h"
#include "runner/schedule/queue.h"
#include "sidbeam/runner.h"
#include "support/error.h"
#include "support/memory.h"
#include "support/process.h"

namespace sidbeam::runner {

struct RunnerConfig {
  Allocator allocator;
  int32_t queue_requests = 1024;
  BatchLimits batch;
  int64_t prompt_tokens = 0;  // most of a request: positions * group
  int64_t decode_rows = 0;    // of a request: M * (L - 1)
  int32_t levels = 0;         // most width_levels of a request
  bool lane_threads = false;
  int32_t (*post)(void* context, void (*task)(void* data), void* data) = nullptr;
  void* post_context = nullptr;
  Clock* clock = nullptr;  // nullptr: the system's
};

// Of a runner with so many lanes, waiting and running. Throws INVALID_ARGUMENT if they are too many to be counted.
int32_t most_requests(const RunnerConfig& config, int64_t lanes);

// Requests have been checked and completed by the caller: a constraint, a group of at least 1, beams 1 .. M.
//
// One mutex guards the queue, the entries, the free lanes and the counts. It is never held while a callback or a lane
// runs. A worker (a thread of the runner, or a task that the host was asked to run) looks at the queue, takes a free
// lane and a batch, runs it, and looks again. A caller of run() is handed a lane when its turn comes; its batch is its
// request alone. Whatever makes a turn free, whoever does it: the mutex is let go by Lock alone, which looks first.
//
// In a forked child every call fails with BAD_STATE, and destroying frees nothing: the mutex may be locked for ever,
// and lanes be in use by threads that do not exist.
class Runner {
 public:
  // Takes all memory and starts all threads. Throws Failure.
  Runner(const RunnerConfig& config, std::vector<std::unique_ptr<Lane>> lanes);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  // As the functions of the C ABI; they throw Failure.
  void run(const sidbeam_request& request);
  int64_t submit(const sidbeam_request& request);
  void cancel(int64_t number);
  bool drain(int64_t timeout_us);  // whether it is idle
  void close();
  sidbeam_runner_stats stats() const;
  // Closes, if need be, and frees. Within a callback of this runner it does nothing.
  static void destroy(Runner* runner);

 private:
  enum class State : int32_t { kFree, kWaiting, kRunning, kEnding };
  enum class Is : int32_t { kWaiting, kGranted, kRefused, kEnding, kOver };
  struct Turn;
  struct LaneState;
  class Batch;
  class Lock;

  // A request that was taken.
  struct Entry {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    sidbeam_shared_kv shared_kv = SIDBEAM_SHARED_KV_INIT;  // the request's, if it has one
    int64_t number = 0, arrival = 0, started = 0;
    std::atomic<bool> cancelled{false};
    Turn* turn = nullptr;  // of run(); nullptr: submitted
    int32_t next = -1;     // in the list of free entries, or of those whose numbers share a bucket
    State state = State::kFree;
  };

  // A request that ends without having run: all that its done() needs, so that its entry is free.
  struct Ending {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    int64_t number = 0, queued = 0;
    Turn* turn = nullptr;
    Outcome outcome;
  };

  // A caller of run(), on its stack.
  struct Turn {
    std::condition_variable changed;
    Is is = Is::kWaiting;
    int32_t lane = -1;  // granted
    Ending refusal;     // refused: its thread ends it
    Failure result{SIDBEAM_OK, {}};
  };

  // Entries: runner.cc.
  int32_t take(Lock& lock, const sidbeam_request& request, Turn* turn);
  void copy_request(int32_t number, const sidbeam_request& request, bool tokens_too);
  int32_t find(int64_t number) const;
  void forget(int32_t entry);
  void put_back(int32_t entry);
  Waiting waiting_of(const Entry& entry) const;
  void count(const Outcome& outcome);
  void count(const Rounds& rounds);
  void leave();
  void check_usable() const;

  // Who goes next: dispatch.cc. All under the lock.
  void settle(Lock& lock);
  Formation look(int64_t time);
  Formation hand_out_turns();
  void insert(int32_t entry);
  void remove(int32_t entry);
  void refuse_turn(int32_t entry, const Outcome& outcome);
  [[nodiscard]] bool call_worker(const Formation& formation);
  int32_t take_lane(const Formation& formation, int64_t time);
  void give_lane_back(int32_t lane);
  void start(int32_t entry, LaneState& lane, int64_t time);

  // Those who run lanes: worker.cc.
  static void posted_work(void* runner);
  void work(bool permanent);
  bool serve(Lock& lock, const Formation& formation);
  bool may_wait(bool permanent) const;
  void wait_for_work(Lock& lock, int64_t until);
  void run_lane(Lock& lock, int32_t lane);
  void post_worker(Lock& lock);
  void wait_turn(Lock& lock, int32_t entry, Turn& turn);
  void start_threads();
  void stop_threads();

  // Endings. They unlock while done() runs.
  void give_up(int32_t entry);
  Ending ending_of(int32_t entry, const Outcome& outcome);
  Ending withdraw(int32_t entry, const Outcome& outcome);
  void end_all(Lock& lock, const Outcome& outcome);
  void end(Lock& lock, const Ending& ending);
  void end_running(int32_t entry, const Outcome& outcome, const LaneState& lane);
  void tell(const sidbeam_request& request, const Outcome& outcome, sidbeam_result result) const;

  int64_t now() const { return clock_->now(); }

  const RunnerConfig config_;
  Clock* const clock_;
  const uint64_t process_ = this_process();
  const int64_t created_;

  mutable std::mutex mutex_;
  bool changed_ = false;  // since somebody has looked: the queue, the lanes, or who comes to look
  int32_t entry_count_;
  Queue queue_;
  std::unique_ptr<Entry[]> entries_;
  Buffer<int32_t> tokens_;   // [entries, prompt_tokens]
  Buffer<int32_t> widths_;   // [entries, levels]
  Buffer<int32_t> buckets_;  // first entry of the numbers that are equal in their low bits
  Buffer<int32_t> formed_;   // [batch.requests] as look() found them
  int32_t free_entry_ = -1;
  int64_t last_number_ = 0;

  int32_t lane_count_, free_lane_ = -1;
  std::unique_ptr<LaneState[]> lanes_;

  // Workers that look for work, those asleep or only posted included; and all there are.
  int32_t looking_ = 0, workers_ = 0;
  int32_t inside_ = 0;      // calls of run() and config.post that will lock again
  int64_t timer_ = kNever;  // when a worker that is asleep will look by itself
  std::condition_variable work_;
  std::vector<std::thread> threads_;

  int32_t outstanding_ = 0;       // requests that were taken, until done() has returned
  std::condition_variable idle_;  // one of these counts has become 0, or the runner is closed
  bool closing_ = false, closed_ = false;

  sidbeam_runner_stats stats_ = SIDBEAM_RUNNER_STATS_INIT;  // the counts
  int64_t busy_ = 0, draft_ = 0;
  Histogram queued_, ran_, total_;
};

}  // namespace sidbeam::runner
