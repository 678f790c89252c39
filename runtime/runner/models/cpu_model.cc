// SPDX-License-Identifier: Apache-2.0
#include "runner/models/cpu_model.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "runner/cuda/cuda_model.h"
#include "runner/draft/head_forward.h"
#include "runner/models/cpu_forward.h"
#include "support/arguments.h"
#include "support/escape.h"

namespace sidbeam::runner {
namespace {

int32_t weights_of(Dtype held) {
  switch (held) {
    case Dtype::kF32:
      return SIDBEAM_WEIGHTS_F32;
    case Dtype::kF16:
      return SIDBEAM_WEIGHTS_F16;
    case Dtype::kBf16:
      return SIDBEAM_WEIGHTS_BF16;
    case Dtype::kI8:
      break;
  }
  return SIDBEAM_WEIGHTS_INT8;
}

}  // namespace

CpuModel::CpuModel(const Allocator& allocator, ModelTensors& tensors, const ModelConfig& config, int32_t weights)
    : allocator_(allocator),
      config_(config),
      weights_(load_weights(allocator, tensors, config, weights)),
      info_(info_of(config, weights_of(weights_.decoder.layers.front().feed_forward.in.matrix.dtype),
                    weights_.parameters, weights_.memory_bytes)),
      asked_(weights) {}

std::unique_ptr<Output> CpuModel::make_output(const Allocator& allocator, const OutputConfig& config) const {
  const Matrix* packed = config.normalization == SIDBEAM_NORMALIZE_FULL ? &packed_head() : nullptr;
  return std::make_unique<CpuOutput>(allocator, config, head(), head_dtype(), packed);
}

const Matrix& CpuModel::packed_head() const {
  PackedHead& packed = packed_.get();
  const std::lock_guard<std::mutex> lock(packed.mutex);
  if (packed.bytes == 0) {
    packed.matrix = pack_matrix(allocator_, head(), head_dtype());
    packed.bytes = packed.matrix.memory_bytes();
  }
  return packed.matrix;
}

sidbeam_model_info CpuModel::info() const {
  sidbeam_model_info info = info_;
  if (const PackedHead* packed = packed_.find()) info.memory_bytes += packed->bytes;
  return info;
}

void CpuModel::check_shared_kv(const sidbeam_shared_kv& kv) const {
  if (kv.device_type != SIDBEAM_DEVICE_CPU)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.shared_kv.device_type is %d, expected SIDBEAM_DEVICE_CPU, %d: keys and values in host memory",
         kv.device_type, SIDBEAM_DEVICE_CPU);
  if (kv.device_id != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "request.shared_kv.device_id is %d, expected 0, the only one of the CPU",
         kv.device_id);
}

sidbeam_model_info info_of(const ModelConfig& config, int32_t weights, int64_t parameters, int64_t memory_bytes) {
  sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
  std::snprintf(info.family, sizeof info.family, "%s", name_of(config.family));
  info.layers = config.layers;
  info.encoder_layers = config.encoder_layers;
  info.hidden = config.hidden;
  info.heads = config.heads;
  info.kv_heads = config.kv_heads;
  info.head_dim = config.head_dim;
  info.weights = weights;
  info.vocabulary = config.vocabulary;
  info.max_positions = config.max_positions;
  info.parameters = parameters;
  info.memory_bytes = memory_bytes;
  return info;
}

void check_begin_tokens(const ModelConfig& config, const ForwardLimits& limits) {
  if (config.encoder_layers > 0 && limits.begin_count == 0 && config.decoder_start_token < 0) {
    fail(SIDBEAM_INVALID_ARGUMENT,
         "begin_tokens: the model's config names no decoder_start_token_id, so at least one is needed");
  }
  for (int64_t i = 0; i < limits.begin_count; ++i) {
    if (limits.begin_tokens[i] < 0 || limits.begin_tokens[i] >= config.vocabulary)
      fail(SIDBEAM_INVALID_ARGUMENT, "begin_tokens[%lld]: %d, expected one of the model's tokens, 0 .. %lld",
           static_cast<long long>(i), limits.begin_tokens[i], static_cast<long long>(config.vocabulary - 1));
  }
}

std::unique_ptr<Forward> CpuModel::make_forward(const Allocator& allocator, const Output& output,
                                                const ForwardLimits& limits, const Workers& workers) const {
  check_begin_tokens(config_, limits);
  return std::make_unique<CpuForward>(allocator, *this, static_cast<const CpuOutput*>(&output), limits, workers);
}

std::unique_ptr<TreeForward> CpuModel::make_tree_forward(const Allocator& allocator, const Output& output,
                                                         const ForwardLimits& limits, const Workers& workers,
                                                         const TreePlace&) const {
  check_begin_tokens(config_, limits);
  return std::make_unique<CpuForward>(allocator, *this, static_cast<const CpuOutput*>(&output), limits, workers);
}

std::unique_ptr<StatesForward> CpuModel::make_states_forward(const Allocator& allocator, const ForwardLimits& limits,
                                                             const Workers& workers) const {
  check_begin_tokens(config_, limits);
  return std::make_unique<CpuForward>(allocator, *this, nullptr, limits, workers);
}

std::unique_ptr<Forward> CpuModel::make_head_forward(const Allocator& allocator, const DraftHead& head,
                                                     const ForwardLimits& limits, const Workers& workers) const {
  ForwardLimits prompts = limits;
  prompts.beams = prompts.levels = 1;  // the model reads prompts alone
  return sidbeam::runner::make_head_forward(allocator, head, make_states_forward(allocator, prompts, workers),
                                            limits.requests, limits.beams, workers);
}

namespace {

// Names the first of the tensors that the file has beyond those that the config asks for.
void log_left(const char* folder, const std::vector<std::string>& left, const sidbeam_model_config& config) {
  constexpr size_t kNamed = 5;
  if (left.empty() || config.log == nullptr) return;
  std::string names;
  for (size_t i = 0; i < std::min(left.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + left[i].substr(0, 60);
  if (left.size() > kNamed) names += " and " + std::to_string(left.size() - kNamed) + " more";
  char line[sizeof(sidbeam_error::message)];
  std::snprintf(line, sizeof line, "'%.100s': config.json asks for none of %zu tensors, which are left: %s", folder,
                left.size(), names.c_str());
  config.log(config.log_context, SIDBEAM_LOG_WARNING, escaped(line).c_str());
}

Model* open_folder(const char* folder, const sidbeam_model_config& config, const Allocator& allocator) {
  refuse_other_formats(folder);
  std::optional<Adapter> adapter;
  std::string base = config.base != nullptr ? config.base : "";
  if (has_adapter(folder)) {
    adapter.emplace(folder);
    base = find_base(folder, base);
    check_base(folder, base);
  } else if (!base.empty()) {
    fail(SIDBEAM_INVALID_ARGUMENT, "config.base is given, expected NULL: '%.200s' has no adapter_config.json", folder);
  } else {
    base = folder;
  }
  ModelConfig read = read_config(base.c_str());
  const Checkpoint checkpoint(base.c_str());
  if (adapter) adapter->read_vocabulary(read);
  // On the CPU pieces stay in its cache; a copy to a device is cheaper the longer it is.
  const bool cuda = config.device_type == SIDBEAM_DEVICE_CUDA;
  ModelTensors tensors(cuda ? default_allocator() : allocator, checkpoint, adapter ? &*adapter : nullptr, read,
                       cuda ? int64_t{16} << 20 : int64_t{1} << 20);
  std::unique_ptr<Model> model;
  if (cuda) {
    model = std::make_unique<CudaModel>(tensors, read, config.weights, config.device_id);
  } else {
    model = std::make_unique<CpuModel>(allocator, tensors, read, config.weights);
  }
  log_left(base.c_str(), tensors.left(), config);
  return model.release();
}

}  // namespace

Model* open_model(const char* folder, const sidbeam_model_config& config) {
  const Allocator allocator = capi::read_allocator(config.allocator, "model_config.allocator");
  check_range("model_config.weights", config.weights, SIDBEAM_WEIGHTS_STORED, SIDBEAM_WEIGHTS_INT8);
  if (config.device_type != SIDBEAM_DEVICE_CPU && config.device_type != SIDBEAM_DEVICE_CUDA)
    fail(SIDBEAM_INVALID_ARGUMENT, "model_config.device_type: %d, expected SIDBEAM_DEVICE_CPU or SIDBEAM_DEVICE_CUDA",
         config.device_type);
  return open_folder(folder, config, allocator);
}

}  // namespace sidbeam::runner
