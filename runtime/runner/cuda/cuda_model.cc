// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_model.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "runner/cuda/cuda_head_forward.h"
#include "runner/cuda/cuda_tree_forward.h"
#include "runner/cuda/load.h"
#include "runner/math/matrix.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

int32_t dtype_of(Dtype dtype) {
  return dtype == Dtype::kF32 ? SIDBEAM_DTYPE_F32 : dtype == Dtype::kF16 ? SIDBEAM_DTYPE_F16 : SIDBEAM_DTYPE_BF16;
}
Dtype stored_type(int32_t dtype) {
  return dtype == SIDBEAM_DTYPE_F32 ? Dtype::kF32 : dtype == SIDBEAM_DTYPE_F16 ? Dtype::kF16 : Dtype::kBf16;
}
int64_t size_of(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// The type of all that is not int8; stored: that of a layer's first matrix.
int32_t held_as(int32_t weights, Dtype stored) {
  switch (weights) {
    case SIDBEAM_WEIGHTS_F32:
      return SIDBEAM_DTYPE_F32;
    case SIDBEAM_WEIGHTS_F16:
      return SIDBEAM_DTYPE_F16;
    case SIDBEAM_WEIGHTS_BF16:
      return SIDBEAM_DTYPE_BF16;
    default:
      return dtype_of(stored);
  }
}

// What the families call a layer's parts.
struct Names {
  const char *query, *key, *value, *output;
};
constexpr Names kT5Names{"q", "k", "v", "o"};
constexpr Names kLlamaNames{"q_proj", "k_proj", "v_proj", "o_proj"};

class Loader {
 public:
  Loader(ModelTensors& tensors, const ModelConfig& config, DeviceArrays& arrays, int32_t dtype, bool int8)
      : tensors_(tensors), config_(config), arrays_(arrays), dtype_(dtype), int8_(int8) {}

  const void* table(const std::string& name) {
    return put({tensors_.matrix(name, config_.vocabulary, config_.hidden)}, dtype_);
  }
  const float* vector(const std::string& name, int64_t size) {
    return static_cast<const float*>(put({tensors_.vector(name, size)}, SIDBEAM_DTYPE_F32));
  }
  std::vector<float> host_numbers(const std::string& name, int64_t rows, int64_t columns) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    tensors_.read(tensors_.matrix(name, rows, columns), Dtype::kF32, [&](int64_t row, const Tensor& piece) {
      widen(piece, 0, piece.outputs * columns, values.data() + row * columns);
    });
    return values;
  }
  DeviceLayer llama_layer(const std::string& path);
  DeviceLayer t5_layer(const std::string& path, bool decoder);

 private:
  struct Part {
    std::string name;
    int64_t outputs;
  };
  // The parts one after the other, as `dtype`.
  const void* put(const std::vector<StoredRows>& parts, int32_t dtype);
  DeviceLinear linear(const std::vector<Part>& parts, int64_t inputs, bool bias);
  void put_int8(const std::vector<StoredRows>& parts, DeviceLinear& linear);
  DeviceAttention attention(const std::string& path, const Names& names);

  ModelTensors& tensors_;
  const ModelConfig& config_;
  DeviceArrays& arrays_;
  int32_t dtype_;
  bool int8_;
};

const void* Loader::put(const std::vector<StoredRows>& parts, int32_t dtype) {
  int64_t elements = 0, first = 0;
  for (const StoredRows& part : parts) elements += part.rows * part.columns;
  void* const array = arrays_.zeros(elements * size_of(dtype));
  for (const StoredRows& part : parts) {
    tensors_.read(part, stored_type(dtype), [&](int64_t row, const Tensor& piece) {
      const HostArray from{piece.data, dtype_of(piece.dtype), piece.outputs * piece.inputs};
      arrays_.write(array, first + row * part.columns, from, dtype);
    });
    first += part.rows * part.columns;
  }
  return array;
}

DeviceLinear Loader::linear(const std::vector<Part>& parts, int64_t inputs, bool bias) {
  std::vector<StoredRows> weights, biases;
  DeviceLinear linear;
  linear.inputs = inputs;
  for (const Part& part : parts) {
    weights.push_back(tensors_.matrix(part.name + ".weight", part.outputs, inputs));
    if (bias) biases.push_back(tensors_.vector(part.name + ".bias", part.outputs));
    linear.outputs += part.outputs;
  }
  if (int8_) {
    put_int8(weights, linear);
  } else {
    linear.weights = put(weights, dtype_);
  }
  if (bias) linear.bias = static_cast<const float*>(put(biases, SIDBEAM_DTYPE_F32));
  return linear;
}

// As on the CPU.
void Loader::put_int8(const std::vector<StoredRows>& parts, DeviceLinear& linear) {
  const auto inputs = static_cast<size_t>(linear.inputs), bytes = static_cast<size_t>(linear.outputs) * inputs;
  std::vector<int8_t> elements((bytes + 3) / 4 * 4);
  std::vector<float> scales, row(inputs);
  for (const StoredRows& part : parts) {
    tensors_.read(part, Dtype::kI8, [&](int64_t, const Tensor& piece) {
      for (int64_t output = 0; output < piece.outputs; ++output) {
        widen(piece, output * linear.inputs, linear.inputs, row.data());
        const float scale = int8_scale(row.data(), linear.inputs);
        std::transform(row.begin(), row.end(), elements.begin() + static_cast<std::ptrdiff_t>(scales.size() * inputs),
                       [scale](float weight) { return int8_of(weight, scale); });
        scales.push_back(scale);
      }
    });
  }
  linear.weights = arrays_.put_bytes_of(elements.data(), static_cast<int64_t>(elements.size() / 4), SIDBEAM_DTYPE_F32);
  linear.scales = arrays_.put(scales.data(), linear.outputs);
}

// All but the norm before it, which is elsewhere in every family.
DeviceAttention Loader::attention(const std::string& path, const Names& names) {
  const int64_t queries = int64_t{config_.heads} * config_.head_dim,
                keys = int64_t{config_.kv_heads} * config_.head_dim;
  const std::vector<Part> fused = {{path + "qkv_proj", queries + 2 * keys}};
  const std::vector<Part> parts = {{path + names.query, queries}, {path + names.key, keys}, {path + names.value, keys}};
  DeviceAttention weights;
  weights.qkv = linear(config_.fused ? fused : parts, config_.hidden, config_.qkv_bias);
  weights.output = linear({{path + names.output, config_.hidden}}, queries, config_.output_bias);
  if (config_.qk_norm) {
    weights.q_norm = vector(path + "q_norm.weight", config_.head_dim);
    weights.k_norm = vector(path + "k_norm.weight", config_.head_dim);
  }
  return weights;
}

DeviceLayer Loader::llama_layer(const std::string& path) {
  DeviceLayer layer;
  layer.self = attention(path + "self_attn.", kLlamaNames);
  layer.self.norm = vector(path + "input_layernorm.weight", config_.hidden);
  layer.norm = vector(path + "post_attention_layernorm.weight", config_.hidden);
  const std::vector<Part> fused = {{path + "mlp.gate_up_proj", 2 * int64_t{config_.ffn}}};
  const std::vector<Part> parts = {{path + "mlp.gate_proj", config_.ffn}, {path + "mlp.up_proj", config_.ffn}};
  layer.in = linear(config_.fused ? fused : parts, config_.hidden, config_.mlp_bias);
  layer.out = linear({{path + "mlp.down_proj", config_.hidden}}, config_.ffn, config_.mlp_bias);
  return layer;
}

DeviceLayer Loader::t5_layer(const std::string& path, bool decoder) {
  const std::string self = path + "layer.0.", cross = path + "layer.1.",
                    last = path + (decoder ? "layer.2." : "layer.1.");
  DeviceLayer layer;
  layer.self = attention(self + "SelfAttention.", kT5Names);
  layer.self.norm = vector(self + "layer_norm.weight", config_.hidden);
  if (decoder) {
    layer.cross = attention(cross + "EncDecAttention.", kT5Names);
    layer.cross.norm = vector(cross + "layer_norm.weight", config_.hidden);
  }
  const std::string dense = last + "DenseReluDense.";
  layer.norm = vector(last + "layer_norm.weight", config_.hidden);
  layer.in = config_.gated ? linear({{dense + "wi_0", config_.ffn}, {dense + "wi_1", config_.ffn}}, config_.hidden,
                                    config_.mlp_bias)
                           : linear({{dense + "wi", config_.ffn}}, config_.hidden, config_.mlp_bias);
  layer.out = linear({{dense + "wo", config_.hidden}}, config_.ffn, config_.mlp_bias);
  return layer;
}

class CudaOutput final : public Output {
 public:
  CudaOutput(const Allocator& allocator, const OutputConfig& config, const DeviceModel& model, const void* head,
             const ForwardDevice& device)
      : Output(allocator, config, model.config.vocabulary), arrays_(device, model.device_id) {
    for (int32_t level = 0; level < columns().levels(); ++level) {
      const int32_t like = columns().full() ? 0 : columns().like(level);
      if (like != level) {
        levels[level] = levels[like];
        continue;
      }
      levels[level].columns = columns().columns(level);
      levels[level].weights = head;
      if (!columns().full()) choose(level, model, head);
    }
  }
  int64_t memory_bytes() const override { return columns().memory_bytes() + arrays_.bytes(); }

  DeviceLevel levels[SIDBEAM_MAX_LEVELS];

 private:
  void choose(int32_t level, const DeviceModel& model, const void* head) {
    DeviceLevel& of = levels[level];
    const int32_t* tokens = columns().tokens(level);
    of.weights = arrays_.gather(head, model.config.vocabulary, model.config.hidden, model.dtype, tokens, of.columns);
    std::vector<int32_t> holes;
    for (int64_t column = 0; column < of.columns; ++column)
      if (tokens[column] == -1) holes.push_back(static_cast<int32_t>(column));
    of.hole_count = static_cast<int64_t>(holes.size());
    // Moved as they are: no arithmetic is done with them.
    if (of.hole_count > 0)
      of.holes = static_cast<const int32_t*>(arrays_.put_bytes_of(holes.data(), of.hole_count, SIDBEAM_DTYPE_F32));
  }

  DeviceArrays arrays_;
};

}  // namespace

DeviceArrays::~DeviceArrays() {
  for (void* array : arrays_) process_.let_go(device_.release, device_id_, array);
  for (void* array : pinned_) process_.let_go(device_.release_pinned, device_id_, array);
}

void* DeviceArrays::keep(void* array, int64_t bytes, std::vector<void*>& with, void (*release)(int32_t, void*)) {
  try {
    with.push_back(array);
  } catch (...) {
    release(device_id_, array);
    throw;
  }
  bytes_ += bytes;
  return array;
}

void* DeviceArrays::zeros(int64_t bytes) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  void* array = nullptr;
  check_status(device_.zeros(device_id_, bytes, &array, &err), err);
  return keep(array, bytes, arrays_, device_.release);
}

void* DeviceArrays::pinned(int64_t bytes) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  void* array = nullptr;
  check_status(device_.pinned(device_id_, bytes, &array, &err), err);
  return keep(array, bytes, pinned_, device_.release_pinned);
}

const void* DeviceArrays::put(const HostArray* parts, int32_t count, int32_t dtype) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  void* array = nullptr;
  int64_t elements = 0;
  for (int32_t i = 0; i < count; ++i) elements += parts[i].elements;
  check_status(device_.upload(device_id_, parts, count, dtype, &array, &err), err);
  return keep(array, elements * size_of(dtype), arrays_, device_.release);
}

void DeviceArrays::write(void* array, int64_t first, const HostArray& part, int32_t dtype) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.write(device_id_, &part, array, first, dtype, &err), err);
}

const void* DeviceArrays::put_bytes_of(const void* data, int64_t elements, int32_t dtype) {
  const HostArray part{data, dtype, elements};
  return put(&part, 1, dtype);
}

const float* DeviceArrays::put(const float* values, int64_t count) {
  return static_cast<const float*>(put_bytes_of(values, count, SIDBEAM_DTYPE_F32));
}

const void* DeviceArrays::gather(const void* table, int64_t rows, int64_t columns, int32_t dtype, const int32_t* which,
                                 int64_t count) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  void* array = nullptr;
  check_status(device_.gather(device_id_, table, rows, columns, dtype, which, count, &array, &err), err);
  return keep(array, count * columns * size_of(dtype), arrays_, device_.release);
}

CudaModel::CudaModel(ModelTensors& tensors, const ModelConfig& config, int32_t weights, int32_t device_id)
    : arrays_(load_runner_plugin().forward, device_id) {
  const bool t5 = config.encoder_layers > 0;
  if (config.bias_per_layer)
    fail(SIDBEAM_UNSUPPORTED,
         "config.device_type is SIDBEAM_DEVICE_CUDA, expected SIDBEAM_DEVICE_CPU for a model of family %s, of which "
         "each layer has a relative bias of its own",
         name_of(config.family));
  const char* embedding = t5 ? "shared.weight" : "model.embed_tokens.weight";
  const char* first = t5             ? "decoder.block.0.layer.0.SelfAttention.q.weight"
                      : config.fused ? "model.layers.0.self_attn.qkv_proj.weight"
                                     : "model.layers.0.self_attn.q_proj.weight";
  model_.device_id = device_id;
  model_.config = config;
  model_.dtype = held_as(weights, tensors.type_of(first));
  const bool int8 = weights == SIDBEAM_WEIGHTS_INT8;
  Loader loader(tensors, config, arrays_, model_.dtype, int8);
  model_.embedding = loader.table(embedding);
  for (int32_t i = 0; i < config.encoder_layers; ++i)
    encoder_.push_back(loader.t5_layer("encoder.block." + std::to_string(i) + ".", false));
  for (int32_t i = 0; i < config.layers; ++i)
    decoder_.push_back(t5 ? loader.t5_layer("decoder.block." + std::to_string(i) + ".", true)
                          : loader.llama_layer("model.layers." + std::to_string(i) + "."));
  model_.encoder = {encoder_.data(), config.encoder_layers, nullptr};
  model_.decoder = {decoder_.data(), config.layers,
                    loader.vector(t5 ? "decoder.final_layer_norm.weight" : "model.norm.weight", config.hidden)};
  if (t5) {
    const auto buckets = [&](const char* name) {
      return loader.host_numbers(std::string(name) + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                                 config.relative_buckets, config.heads);
    };
    model_.encoder.norm = loader.vector("encoder.final_layer_norm.weight", config.hidden);
    encoder_buckets_ = buckets("encoder");
    decoder_buckets_ = buckets("decoder");
  }
  head_ = tensors.has_output_layer(config) ? loader.table("lm_head.weight") : model_.embedding;

  info_ = info_of(config,
                  int8                                ? SIDBEAM_WEIGHTS_INT8
                  : model_.dtype == SIDBEAM_DTYPE_F32 ? SIDBEAM_WEIGHTS_F32
                  : model_.dtype == SIDBEAM_DTYPE_F16 ? SIDBEAM_WEIGHTS_F16
                                                      : SIDBEAM_WEIGHTS_BF16,
                  tensors.parameters(), arrays_.bytes());
}

std::unique_ptr<Output> CudaModel::make_output(const Allocator& allocator, const OutputConfig& config) const {
  return std::make_unique<CudaOutput>(allocator, config, model_, head_, device());
}

void CudaModel::check_shared_kv(const sidbeam_shared_kv& kv) const {
  check_range("request.shared_kv.device_type", kv.device_type, SIDBEAM_DEVICE_CPU, SIDBEAM_DEVICE_CUDA);
  const bool there = kv.device_type == SIDBEAM_DEVICE_CUDA;
  if (there && kv.device_id != model_.device_id)
    fail(SIDBEAM_INVALID_ARGUMENT, "request.shared_kv.device_id is %d, expected the model's, %d", kv.device_id,
         model_.device_id);
  for (const bool keys : {true, false}) {
    for (int32_t layer = 0; layer < info_.layers; ++layer) {
      char name[64];
      std::snprintf(name, sizeof name, "request.shared_kv.%s[%d]", keys ? "keys" : "values", layer);
      sidbeam_error err = SIDBEAM_ERROR_INIT;
      check_status(device().check_memory(model_.device_id, keys ? kv.keys[layer] : kv.values[layer], there, name, &err),
                   err);
    }
  }
}

std::unique_ptr<Forward> CudaModel::make_forward(const Allocator& allocator, const Output& output,
                                                 const ForwardLimits& limits, const Workers&) const {
  check_begin_tokens(model_.config, limits);
  return std::make_unique<CudaForward>(allocator, *this, static_cast<const CudaOutput&>(output).levels,
                                       &output.columns(), limits);
}

std::unique_ptr<TreeForward> CudaModel::make_tree_forward(const Allocator& allocator, const Output& output,
                                                          const ForwardLimits& limits, const Workers&,
                                                          const TreePlace& place) const {
  check_begin_tokens(model_.config, limits);
  return std::make_unique<CudaTreeForward>(allocator, *this, static_cast<const CudaOutput&>(output).levels,
                                           output.columns(), limits, place);
}

std::unique_ptr<Forward> CudaModel::make_head_forward(const Allocator& allocator, const DraftHead& head,
                                                      const ForwardLimits& limits, const Workers&) const {
  check_begin_tokens(model_.config, limits);
  return std::make_unique<CudaHeadForward>(allocator, *this, head, limits);
}

}  // namespace sidbeam::runner
