// Beam search through a draft head: a session of the core, fed by a DraftForward. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/draft/forward.h"
#include "support/executor.h"

namespace sidbeam::runner {

template <class T, void (*release)(T*)>
struct ReleasedBy {
  void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Handle = std::unique_ptr<T, ReleasedBy<T, release>>;

class DraftDecoder {
 public:
  // Throws Failure as sidbeam_draft_decoder_create() says.
  DraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config);
  // Throws Failure as sidbeam_draft_decoder_run() says. `hidden` is args.hidden.
  void run(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out);

 private:
  void hold_catalogue(sidbeam_index* index);
  void make_session(sidbeam_runtime* runtime, const sidbeam_draft_config& config);
  void allocate(const Allocator& allocator);
  void check_constraints(const sidbeam_draft_args& args, int64_t count) const;
  void start(const sidbeam_draft_args& args);
  void run_levels();
  void list_rows(int32_t level);
  int32_t add_row(int32_t level, int64_t beam);
  void step(int32_t level);
  void harvest();
  void stop() noexcept;

  Ref<DraftHead> head_;
  Handle<sidbeam_constraint, sidbeam_constraint_release> constraint_;  // all of the index
  Handle<sidbeam_session, sidbeam_session_destroy> session_;
  std::unique_ptr<Executor> executor_;  // nullptr: the caller's thread alone
  std::unique_ptr<DraftForward> forward_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;  // views of the session's arrays
  int32_t most_requests_ = 0, most_beams_ = 0, levels_ = 0;

  // A run.
  int32_t requests_ = 0, running_count_ = 0, rows_ = 0;
  Buffer<int32_t> slots_;                                   // [B] 0, 1, 2 ..
  Buffer<int32_t> running_;                                 // [B] slots that have beams to go on with
  Buffer<int32_t> row_map_;                                 // [running, M] as the step wants it
  Buffer<int32_t> beam_rows_, beam_rows_before_;            // [B, M] row of each beam, at this level and the one before
  Buffer<int32_t> row_requests_, row_parents_, row_codes_;  // [rows]
  // Its results.
  Buffer<int32_t> live_, errors_;  // [B]
  Buffer<int32_t> sids_;           // [B, M, L]
  Buffer<float> scores_;           // [B, M]
  Buffer<int64_t> ordinals_;       // [B, M]
};

}  // namespace sidbeam::runner
