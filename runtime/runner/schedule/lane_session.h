// A lane's session, and the jobs of a batch that have a slot of it: what lanes on the CPU and on CUDA share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/schedule/lane.h"
#include "support/guard.h"

namespace sidbeam::runner {

inline constexpr Outcome kCancelled = {SIDBEAM_CANCELLED, "the request was cancelled"};
inline constexpr Outcome kEndedByAdjust = {SIDBEAM_CANCELLED, "config.adjust ended the request"};
inline constexpr Outcome kBadLogits = {SIDBEAM_INVALID_ARGUMENT,
                                       "logits that mattered are NaN or +inf, or a score exceeds the range of f32"};

// Logits of one slot's rows, or of a step's.
struct LevelRows {
  float* logits = nullptr;
  int64_t rows = 0, columns = 0;
  const int32_t* row_beams = nullptr;  // [rows]; adjust() alone reads it
  int64_t row_stride = 0;              // elements; 0: columns
};

class LaneSession {
 public:
  // All work is enqueued on the stream of `place`. Throws Failure as make_lane().
  LaneSession(const Allocator& allocator, const LaneConfig& config, const LanePlace& place = {});
  // A session that is stepped on log-probabilities by code instead of logits (choices.h).
  static LaneSession of_choices(const Allocator& allocator, const LaneConfig& config);

  sidbeam_session* get() const { return session_.get(); }
  const LaneConfig& config() const { return config_; }
  int32_t levels() const { return levels_; }
  int32_t codes(int32_t level) const { return codes_[level]; }
  // Of a session of choices: the column of a code. The end, V_l, follows a level's last code; it is the last column, at
  // all levels.
  int64_t choice_column(int32_t level, int32_t code) const { return most_codes_ - codes_[level] + code; }
  int64_t choice_columns() const { return int64_t{most_codes_} + 1; }
  const sidbeam_beams& beams() const { return beams_; }  // where the session is
  // In the host's memory: on a device what fetch(), or a speculation of the session, brought there.
  const sidbeam_beams& host_beams() const { return host_beams_; }
  void fetch();
  int64_t memory_bytes() const;

  // Gives the jobs that can start the slots 0, 1, ... in order, which are their prompts' numbers, and ends the others:
  // one whose rules allow nothing finds nothing, and one that cannot start (its index lacks what the strategy needs)
  // touches no other. Returns how many have a slot.
  int32_t start(const Job* jobs, int32_t count, Ended& ended);
  // Starts the first slots with the jobs that `other` has there, each as much wider as this session is. Throws.
  void start_beside(const LaneSession& other, int32_t count);
  // Starts a slot over, with the job that it has. Throws.
  void restart(int32_t slot);
  const Prompt* prompts() const { return prompts_.data(); }
  const Job& job(int32_t slot) const { return jobs_[job_[slot]]; }
  bool is_cancelled(int32_t slot) const { return is_cancelled(job(slot)); }
  // The host's callback; whether the request goes on.
  bool adjust(int32_t level, int32_t slot, const LevelRows& rows) const;
  // Lists are where the session is.
  void step(const int32_t* slots, int32_t count, const LevelRows& rows, const int32_t* row_map);
  sidbeam_rows rows_of(const LevelRows& rows) const;
  // What slots have found: arrays where the session is, [count, M, L] and [count, M].
  void get_items(const int32_t* slots, int32_t count, int32_t* sids, int64_t* ordinals);
  // Tells how a slot's job ended.
  void end(int32_t slot, const Outcome& outcome) const { ended_->ended(job_[slot], outcome); }
  // The slots are idle afterwards.
  void stop(const int32_t* slots, int32_t count);

 private:
  struct Deleter {
    void operator()(sidbeam_session* session) const { sidbeam_session_destroy(session); }
  };
  enum class Rows : uint8_t { kLogits, kChoices };
  LaneSession(const Allocator& allocator, const LaneConfig& config, Rows rows, const LanePlace& place);
  bool is_on_device() const { return place_.stream != nullptr; }
  static bool is_cancelled(const Job& job) { return job.cancelled->load(std::memory_order_relaxed); }
  static bool allows_nothing(const sidbeam_constraint* constraint);
  bool start(int32_t slot, const Job& job, sidbeam_error& error);
  void create(Rows rows);

  LaneConfig config_;
  LanePlace place_;
  int32_t levels_ = 0, most_codes_ = 0;
  int32_t codes_[SIDBEAM_MAX_LEVELS] = {};
  std::unique_ptr<sidbeam_session, Deleter> session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT, host_beams_ = SIDBEAM_BEAMS_INIT;

  const Job* jobs_ = nullptr;
  Ended* ended_ = nullptr;
  Buffer<int32_t> job_;     // [requests] of a slot
  Buffer<Prompt> prompts_;  // [requests] of a slot
  Buffer<int32_t> wider_;   // [L] widths of a job that is started beside another
};

// Does the work of a batch; what it throws is how the jobs that are left end, which `end_all` is told.
template <class Work, class EndAll>
void run_batch(const Work& work, const EndAll& end_all) noexcept {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  if (guarded(&error, work) != SIDBEAM_OK) end_all(Outcome{error.code, error.message});
}

}  // namespace sidbeam::runner
