// A model on a CUDA device with a draft head behind it, for a lane there: one pass over prompts and placeholders, after
// which the head alone gives the logits of every level. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_forward.h"
#include "runner/cuda/draft_interface.h"

namespace sidbeam::runner {

// Row i * M + m of the logits is beam m's of request i, but at level 0, where row i is request i's. What the host does
// not see it does not decide: rows of dead beams are computed as well.
class CudaHeadForward final : public CudaForward {
 public:
  // As Model::make_head_forward().
  CudaHeadForward(const Allocator& allocator, const CudaModel& model, const DraftHead& head,
                  const ForwardLimits& limits);
  CudaHeadForward(const CudaHeadForward&) = delete;
  CudaHeadForward& operator=(const CudaHeadForward&) = delete;
  ~CudaHeadForward() override;
  void prefill(const Prompt* prompts, int32_t count) override;
  // Reads `depth` and `beams` alone: all requests of the prefill.
  void decode(const DecodeRows& rows) override;
  float* logits(int32_t level) override;
  int64_t columns(int32_t level) const override { return config_.of_level[level].codes; }
  int64_t row_stride(int32_t level) const override { return draft_stride(columns(level)); }
  int64_t memory_bytes() const override;

 private:
  const DraftDevice& draft_;
  DeviceDraftConfig config_;
  DeviceDraft* handle_ = nullptr;
  DeviceDraftView view_;
};

}  // namespace sidbeam::runner
