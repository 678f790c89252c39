// SPDX-License-Identifier: Apache-2.0
#include "runner/models/weights.h"

#include <string>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

// What all modules are read from, and what they come to.
struct Source {
  const Allocator& allocator;
  ModelTensors& tensors;
  const ModelConfig& config;
  int32_t weights;
  int64_t memory_bytes = 0;
};

// A module's tensors, by their names below its path.
class Module {
 public:
  explicit Module(Source& source, std::string path = "") : source_(source), path_(std::move(path)) {}
  Module operator/(const std::string& name) const { return Module(source_, path_ + name + "."); }
  Module operator/(int64_t i) const { return *this / std::to_string(i); }
  const ModelConfig& config() const { return source_.config; }

  // Outputs of a linear: all, or [first, first + outputs) of `of`, where several are one tensor.
  struct Part {
    const char* name;
    int64_t outputs;
    int64_t first = 0, of = 0;
  };
  // The parts' outputs one below the other.
  Linear linear(std::initializer_list<Part> parts, int64_t inputs, bool bias) const;
  Buffer<float> vector(const char* name, int64_t size) const {
    return numbers(source_.tensors.vector(path_ + name, size));
  }
  // [rows, columns] as f32.
  Buffer<float> matrix(const char* name, int64_t rows, int64_t columns) const {
    return numbers(source_.tensors.matrix(path_ + name, rows, columns));
  }
  Table table(const char* name, int64_t rows, int64_t columns) const;

 private:
  Buffer<float> numbers(const StoredRows& stored) const;
  void widen_into(const StoredRows& stored, float* out) const;

  Source& source_;
  std::string path_;
};

void Module::widen_into(const StoredRows& stored, float* out) const {
  source_.tensors.read(stored, Dtype::kF32, [&](int64_t row, const Tensor& piece) {
    widen(piece, 0, piece.outputs * piece.inputs, out + row * stored.columns);
  });
}

Linear Module::linear(std::initializer_list<Part> parts, int64_t inputs, bool bias) const {
  std::vector<StoredRows> tensors;
  int64_t outputs = 0;
  Dtype stored = Dtype::kF32;
  for (const Part& part : parts) {
    const int64_t of = part.of == 0 ? part.outputs : part.of;
    tensors.push_back(source_.tensors.rows(path_ + part.name + ".weight", of, inputs, part.first, part.outputs));
    const Dtype one = tensors.back().dtype;
    stored = tensors.size() == 1 || one == stored ? one : Dtype::kF32;  // of both kinds: what holds either
    outputs += part.outputs;
  }
  Linear linear;
  linear.matrix = make_matrix(source_.allocator, outputs, inputs, held_dtype(source_.weights, stored));
  int64_t first = 0;
  for (const StoredRows& tensor : tensors) {
    source_.tensors.read(tensor, linear.matrix.dtype,
                         [&](int64_t row, const Tensor& piece) { pack_outputs(linear.matrix, first + row, piece); });
    first += tensor.rows;
  }
  if (bias) {
    linear.bias = Buffer<float>(source_.allocator, outputs);
    float* out = linear.bias.data();
    for (const Part& part : parts) {
      widen_into(source_.tensors.vector(path_ + part.name + ".bias", part.outputs), out);
      out += part.outputs;
    }
  }
  source_.memory_bytes += linear.matrix.memory_bytes() + linear.bias.bytes();
  return linear;
}

Buffer<float> Module::numbers(const StoredRows& stored) const {
  Buffer<float> values(source_.allocator, stored.rows * stored.columns);
  widen_into(stored, values.data());
  source_.memory_bytes += values.bytes();
  return values;
}

// Embeddings stay as stored where matrices become integers.
Table Module::table(const char* name, int64_t rows, int64_t columns) const {
  const StoredRows stored = source_.tensors.matrix(path_ + name, rows, columns);
  const Dtype held = held_dtype(source_.weights, stored.dtype);
  Table table = make_table(source_.allocator, rows, columns, held == Dtype::kI8 ? stored.dtype : held);
  source_.tensors.read(stored, table.dtype, [&](int64_t row, const Tensor& piece) { copy_rows(table, row, piece); });
  source_.memory_bytes += table.memory_bytes();
  return table;
}

// What the families call the four projections.
struct AttentionNames {
  const char *query, *key, *value, *output;
};
constexpr AttentionNames kT5Names{"q", "k", "v", "o"};
constexpr AttentionNames kLlamaNames{"q_proj", "k_proj", "v_proj", "o_proj"};

// All but the norm before it, which is elsewhere in every family.
AttentionWeights load_attention(const Module& module, const AttentionNames& names) {
  const ModelConfig& config = module.config();
  const int64_t queries = int64_t{config.heads} * config.head_dim, keys = int64_t{config.kv_heads} * config.head_dim;
  AttentionWeights weights;
  if (config.fused) {
    const int64_t all = queries + 2 * keys;
    weights.query = module.linear({{"qkv_proj", queries, 0, all}}, config.hidden, config.qkv_bias);
    weights.key_value = module.linear({{"qkv_proj", 2 * keys, queries, all}}, config.hidden, config.qkv_bias);
  } else {
    weights.query = module.linear({{names.query, queries}}, config.hidden, config.qkv_bias);
    weights.key_value = module.linear({{names.key, keys}, {names.value, keys}}, config.hidden, config.qkv_bias);
  }
  weights.output = module.linear({{names.output, config.hidden}}, queries, config.output_bias);
  if (config.qk_norm) {
    weights.q_norm = module.vector("q_norm.weight", config.head_dim);
    weights.k_norm = module.vector("k_norm.weight", config.head_dim);
  }
  return weights;
}

LayerWeights load_llama_layer(const Module& module) {
  const ModelConfig& config = module.config();
  LayerWeights layer;
  layer.self = load_attention(module / "self_attn", kLlamaNames);
  layer.self.norm = module.vector("input_layernorm.weight", config.hidden);
  const Module mlp = module / "mlp";
  layer.feed_forward.norm = module.vector("post_attention_layernorm.weight", config.hidden);
  layer.feed_forward.in =
      config.fused ? mlp.linear({{"gate_up_proj", 2 * int64_t{config.ffn}}}, config.hidden, config.mlp_bias)
                   : mlp.linear({{"gate_proj", config.ffn}, {"up_proj", config.ffn}}, config.hidden, config.mlp_bias);
  layer.feed_forward.out = mlp.linear({{"down_proj", config.hidden}}, config.ffn, config.mlp_bias);
  return layer;
}

LayerWeights load_t5_layer(const Module& block, bool decoder) {
  const ModelConfig& config = block.config();
  const Module sublayers = block / "layer";
  int64_t place = 0;
  const auto attention = [&](const char* name) {
    const Module sublayer = sublayers / place++;
    AttentionWeights weights = load_attention(sublayer / name, kT5Names);
    weights.norm = sublayer.vector("layer_norm.weight", config.hidden);
    return weights;
  };
  LayerWeights layer;
  layer.self = attention("SelfAttention");
  if (decoder) layer.cross = attention("EncDecAttention");
  const Module sublayer = sublayers / place, dense = sublayer / "DenseReluDense";
  layer.feed_forward.norm = sublayer.vector("layer_norm.weight", config.hidden);
  layer.feed_forward.in =
      config.gated ? dense.linear({{"wi_0", config.ffn}, {"wi_1", config.ffn}}, config.hidden, config.mlp_bias)
                   : dense.linear({{"wi", config.ffn}}, config.hidden, config.mlp_bias);
  layer.feed_forward.out = dense.linear({{"wo", config.hidden}}, config.ffn, config.mlp_bias);
  return layer;
}

StackWeights load_t5_stack(const Module& module, int32_t layers, bool decoder) {
  const ModelConfig& config = module.config();
  StackWeights stack;
  for (int32_t i = 0; i < layers; ++i) stack.layers.push_back(load_t5_layer(module / "block" / i, decoder));
  stack.norm = module.vector("final_layer_norm.weight", config.hidden);
  // The first layer has the bias for all, unless each has its own.
  for (int32_t i = 0; i < (config.bias_per_layer ? layers : 1); ++i)
    stack.relative_biases.push_back(
        (module / "block" / i / "layer" / 0 / "SelfAttention")
            .matrix("relative_attention_bias.weight", config.relative_buckets, config.heads));
  return stack;
}

StackWeights load_llama_stack(const Module& module) {
  StackWeights stack;
  for (int32_t i = 0; i < module.config().layers; ++i) stack.layers.push_back(load_llama_layer(module / "layers" / i));
  stack.norm = module.vector("norm.weight", module.config().hidden);
  return stack;
}

}  // namespace

Dtype held_dtype(int32_t weights, Dtype stored) {
  switch (weights) {
    case SIDBEAM_WEIGHTS_F32:
      return Dtype::kF32;
    case SIDBEAM_WEIGHTS_F16:
      return Dtype::kF16;
    case SIDBEAM_WEIGHTS_BF16:
      return Dtype::kBf16;
    case SIDBEAM_WEIGHTS_INT8:
      return Dtype::kI8;
    default:
      return stored;
  }
}

Tensor view_of(const Table& table) { return {table.elements.data(), table.dtype, table.rows, table.columns}; }

ModelWeights load_weights(const Allocator& allocator, ModelTensors& tensors, const ModelConfig& config,
                          int32_t weights) {
  Source source{allocator, tensors, config, weights};
  const Module top(source);
  ModelWeights model;
  if (config.encoder_layers > 0) {
    model.embedding = top.table("shared.weight", config.vocabulary, config.hidden);
    model.encoder = load_t5_stack(top / "encoder", config.encoder_layers, false);
    model.decoder = load_t5_stack(top / "decoder", config.layers, true);
  } else {
    model.embedding = (top / "model").table("embed_tokens.weight", config.vocabulary, config.hidden);
    model.decoder = load_llama_stack(top / "model");
  }
  if (tensors.has_output_layer(config)) model.head = top.table("lm_head.weight", config.vocabulary, config.hidden);
  model.parameters = tensors.parameters();
  model.memory_bytes = source.memory_bytes;
  return model;
}

}  // namespace sidbeam::runner
