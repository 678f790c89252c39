// A model on a CUDA device that takes trees, for a lane of speculation. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_forward.h"

namespace sidbeam::runner {

class CudaTreeForward final : public CudaForward, public TreeForward {
 public:
  // As Model::make_tree_forward().
  CudaTreeForward(const Allocator& allocator, const CudaModel& model, const DeviceLevel* levels,
                  const OutputColumns& columns, const ForwardLimits& limits, const TreePlace& place);
  void run_tree(const Prompt* prompts, const DecodeRows& nodes) override;
  float* tree_logits(const int32_t* depths) override;
  LanePlace place() const override;
  std::unique_ptr<Exchange> make_exchange(const Allocator& allocator) override;
  int64_t memory_bytes() const override { return CudaForward::memory_bytes() + fetched_.bytes(); }

 private:
  DeviceArrays fetched_;
  float* host_logits_ = nullptr;  // pinned; nullptr: they stay on the device
  int64_t most_columns_;
  int32_t rows_ = 0;  // of the last pass
};

}  // namespace sidbeam::runner
