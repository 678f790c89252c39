// One lane's forward passes on a CUDA device, by the plugin. DecodeRows and logits are on the device, in the order of
// stream(). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_model.h"
#include "support/guard.h"

namespace sidbeam::runner {

class CudaForward : public Forward {
 public:
  // `levels` and `columns`: the output layer, which outlives it; nullptr where `limits` has placeholders. `stream`: of
  // another one, which outlives it; nullptr: one of its own.
  CudaForward(const Allocator& allocator, const CudaModel& model, const DeviceLevel* levels,
              const OutputColumns* columns, const ForwardLimits& limits, void* stream = nullptr);
  ~CudaForward() override;
  void prefill(const Prompt* prompts, int32_t count) override;
  void decode(const DecodeRows& beams) override;
  float* logits(int32_t level) override;
  int64_t columns(int32_t level) const override { return columns_->columns(level); }
  // Of logits(): elements.
  virtual int64_t row_stride(int32_t level) const { return columns(level); }
  // Of the last prefill, with placeholders: as DeviceForward's.
  const float* states() const { return device_.states(forward_); }
  // Calls enqueue(), or launches the graph of what it enqueued before: DeviceWork says when.
  template <class Enqueue>
  void replay(int64_t key, Enqueue enqueue) {
    const auto call = [](void* context, sidbeam_error* err) { return guarded(err, *static_cast<Enqueue*>(context)); };
    replay(DeviceWork{key, call, &enqueue});
  }
  int64_t memory_bytes() const override;
  void* stream() const { return device_.stream(forward_); }
  DeviceForward* handle() const { return forward_; }
  const ForwardDevice& device() const { return device_; }
  int32_t device_id() const { return arrays_.device_id(); }

 private:
  void replay(const DeviceWork& work);
  void put_rope(const Allocator& allocator, const ModelConfig& config, int64_t positions);
  void put_biases(const Allocator& allocator, const CudaModel& model, int64_t positions);

  const ForwardDevice& device_;
  const OutputColumns* columns_;
  DeviceArrays arrays_;
  std::vector<int32_t> begin_;  // which the configuration refers to
  DeviceForwardConfig config_;
  DeviceForward* forward_ = nullptr;
};

}  // namespace sidbeam::runner
