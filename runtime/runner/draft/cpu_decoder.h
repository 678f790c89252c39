// Beam search through a draft head on the CPU: a DraftForward feeds the session.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/draft/decoder.h"
#include "runner/draft/forward.h"
#include "support/executor.h"

namespace sidbeam::runner {

class CpuDraftDecoder final : public DraftDecoder {
 public:
  // Throws Failure as sidbeam_draft_decoder_create() says.
  CpuDraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config);

 private:
  void decode_levels(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out) override;
  void allocate(const Allocator& allocator);
  void run_levels();
  void list_rows(int32_t level);
  int32_t add_row(int32_t level, int64_t beam);
  void step(int32_t level);
  void harvest();

  std::unique_ptr<Executor> executor_;  // nullptr: the caller's thread alone
  std::unique_ptr<DraftForward> forward_;

  // A run.
  int32_t requests_ = 0, running_count_ = 0, rows_ = 0;
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
