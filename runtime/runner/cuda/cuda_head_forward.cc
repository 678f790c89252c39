// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_head_forward.h"

#include <algorithm>

#include "runner/cuda/cuda_draft_head.h"
#include "runner/cuda/load.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

// Of the model, which reads prompts alone.
ForwardLimits limits_of_prompts(const ForwardLimits& limits) {
  ForwardLimits prompts = limits;
  prompts.beams = prompts.levels = 1;
  return prompts;
}

}  // namespace

CudaHeadForward::CudaHeadForward(const Allocator& allocator, const CudaModel& model, const DraftHead& head,
                                 const ForwardLimits& limits)
    : CudaForward(allocator, model, nullptr, nullptr, limits_of_prompts(limits)),
      draft_(load_runner_plugin().draft),
      config_(device_draft_config(head, device_id(), limits.requests, limits.beams)) {
  std::fill_n(config_.rows + 1, config_.levels - 1, config_.beams);  // where the lane looks for its beams
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(draft_.create(&config_, &handle_, &err), err);
  view_ = draft_.view(handle_);
}

CudaHeadForward::~CudaHeadForward() { draft_.destroy(handle_); }

// The head's beginning is no part of a graph: it tells the plugin where the states are.
void CudaHeadForward::prefill(const Prompt* prompts, int32_t count) {
  CudaForward::prefill(prompts, count);
  sidbeam_rows hidden = sidbeam_rows_dense(states(), SIDBEAM_DTYPE_F32, count, config_.levels + 1, config_.hidden);
  hidden.device_type = SIDBEAM_DEVICE_CUDA, hidden.device_id = device_id();
  hidden.row_stride = hidden.columns, hidden.slot_stride = hidden.rows * hidden.row_stride;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(draft_.begin(handle_, &hidden, stream(), &err), err);
}

void CudaHeadForward::decode(const DecodeRows& rows) {
  if (config_.transition == SIDBEAM_DRAFT_TRANSITION_NONE) return;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(draft_.advance(handle_, rows.depth - 1, rows.beams, &err), err);
}

float* CudaHeadForward::logits(int32_t level) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(draft_.logits(handle_, level, &err), err);
  return view_.logits;
}

int64_t CudaHeadForward::memory_bytes() const { return CudaForward::memory_bytes() + draft_.memory_bytes(handle_); }

}  // namespace sidbeam::runner
