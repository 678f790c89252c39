// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_forward.h"

#include <algorithm>

#include "runner/models/relative_bias.h"
#include "runner/models/rope.h"
#include "support/error.h"

namespace sidbeam::runner {
CudaForward::CudaForward(const Allocator& allocator, const CudaModel& model, const DeviceLevel* levels,
                         const OutputColumns* columns, const ForwardLimits& limits, void* stream)
    : device_(model.device()), columns_(columns), arrays_(device_, model.device_model().device_id) {
  const ModelConfig& config = model.device_model().config;
  const bool encodes = config.encoder_layers > 0;
  begin_.assign(limits.begin_tokens, limits.begin_tokens + limits.begin_count);
  if (encodes && begin_.empty()) begin_.push_back(config.decoder_start_token);
  begin_.insert(begin_.end(), limits.placeholders, limits.placeholders + limits.placeholder_count);
  config_.model = &model.device_model();
  config_.limits = limits;
  config_.limits.begin_tokens = begin_.data();
  config_.limits.begin_count = static_cast<int64_t>(begin_.size());
  config_.levels = levels;
  config_.stream = stream;
  const int64_t positions =
      config_.limits.begin_count + (encodes ? 0 : limits.max_prompt) + std::max(1, limits.levels) - 1;
  if (encodes) {
    put_biases(allocator, model, positions);
  } else {
    put_rope(allocator, config, positions);
  }
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.create(&config_, &forward_, &err), err);
}

CudaForward::~CudaForward() { device_.destroy(forward_); }

void CudaForward::put_rope(const Allocator& allocator, const ModelConfig& config, int64_t positions) {
  const RopeTable rope = make_model_rope(allocator, config, positions);
  config_.cosines = arrays_.put(rope.cosines.data(), rope.cosines.size());
  config_.sines = arrays_.put(rope.sines.data(), rope.sines.size());
}

void CudaForward::put_biases(const Allocator& allocator, const CudaModel& model, int64_t positions) {
  const ModelConfig& config = model.device_model().config;
  const auto put = [&](const std::vector<float>& buckets, bool bidirectional, int64_t count) {
    const RelativeBias bias(allocator, buckets.data(), config.heads, config.relative_buckets,
                            config.relative_max_distance, bidirectional, count);
    const float* values = arrays_.put(bias.at_zero() - (count - 1), config.heads * bias.stride());
    return DeviceBias{values + count - 1, bias.stride()};
  };
  config_.encoder_bias = put(model.encoder_buckets(), true, config_.limits.max_prompt);
  config_.decoder_bias = put(model.decoder_buckets(), false, positions);
  const RelativeBias bias(allocator, model.decoder_buckets().data(), config.heads, config.relative_buckets,
                          config.relative_max_distance, false, positions);
  std::vector<float> ancestors;
  for (int32_t depth = 1; depth < config_.limits.levels; ++depth)
    for (int32_t head = 0; head < config.heads; ++head)
      for (int32_t i = 0; i < depth; ++i) ancestors.push_back(bias.at_zero()[head * bias.stride() + 1 - depth + i]);
  if (!ancestors.empty()) config_.ancestor_bias = arrays_.put(ancestors.data(), static_cast<int64_t>(ancestors.size()));
}

void CudaForward::prefill(const Prompt* prompts, int32_t count) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.prefill(forward_, prompts, count, &err), err);
}

void CudaForward::decode(const DecodeRows& beams) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.decode(forward_, &beams, &err), err);
}

void CudaForward::replay(const DeviceWork& work) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.replay(forward_, &work, &err), err);
}

float* CudaForward::logits(int32_t level) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  float* out = nullptr;
  check_status(device_.logits(forward_, level, &out, &err), err);
  return out;
}

int64_t CudaForward::memory_bytes() const { return arrays_.bytes() + device_.memory_bytes(forward_); }

}  // namespace sidbeam::runner
