// SPDX-License-Identifier: Apache-2.0
#include "random_model.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

struct NamedTensor {
  std::string name;
  int64_t outputs, inputs;  // inputs 0: a vector
};

std::vector<NamedTensor> t5_block(const ModelShape& shape, const std::string& block, bool decoder) {
  const int64_t inner = shape.heads * shape.head_dim;
  std::vector<NamedTensor> tensors;
  int layer = 0;
  const auto attention = [&](const char* name) {
    const std::string at = block + "layer." + std::to_string(layer++) + ".";
    for (const char* projection : {"q", "k", "v"})
      tensors.push_back({at + name + "." + projection + ".weight", inner, shape.hidden});
    tensors.push_back({at + name + ".o.weight", shape.hidden, inner});
    tensors.push_back({at + "layer_norm.weight", shape.hidden, 0});
  };
  attention("SelfAttention");
  if (decoder) attention("EncDecAttention");
  const std::string at = block + "layer." + std::to_string(layer) + ".";
  tensors.push_back({at + "DenseReluDense.wi.weight", shape.ffn, shape.hidden});
  tensors.push_back({at + "DenseReluDense.wo.weight", shape.hidden, shape.ffn});
  tensors.push_back({at + "layer_norm.weight", shape.hidden, 0});
  return tensors;
}

std::vector<NamedTensor> t5_tensors(const ModelShape& shape) {
  std::vector<NamedTensor> tensors = {{"shared.weight", shape.vocabulary, shape.hidden}};
  for (const bool decoder : {false, true}) {
    const std::string stack = decoder ? "decoder." : "encoder.";
    for (int64_t i = 0; i < shape.layers; ++i) {
      const auto block = t5_block(shape, stack + "block." + std::to_string(i) + ".", decoder);
      tensors.insert(tensors.end(), block.begin(), block.end());
    }
    tensors.push_back({stack + "block.0.layer.0.SelfAttention.relative_attention_bias.weight", 32, shape.heads});
    tensors.push_back({stack + "final_layer_norm.weight", shape.hidden, 0});
  }
  return tensors;
}

std::vector<NamedTensor> llama_tensors(const ModelShape& shape) {
  const int64_t inner = shape.heads * shape.head_dim;
  std::vector<NamedTensor> tensors = {{"model.embed_tokens.weight", shape.vocabulary, shape.hidden},
                                      {"lm_head.weight", shape.vocabulary, shape.hidden},
                                      {"model.norm.weight", shape.hidden, 0}};
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    for (const char* projection : {"q", "k", "v"})
      tensors.push_back({at + "self_attn." + projection + "_proj.weight", inner, shape.hidden});
    tensors.push_back({at + "self_attn.o_proj.weight", shape.hidden, inner});
    tensors.push_back({at + "mlp.gate_proj.weight", shape.ffn, shape.hidden});
    tensors.push_back({at + "mlp.up_proj.weight", shape.ffn, shape.hidden});
    tensors.push_back({at + "mlp.down_proj.weight", shape.hidden, shape.ffn});
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      tensors.push_back({at + norm + ".weight", shape.hidden, 0});
  }
  return tensors;
}

std::string config_of(const ModelShape& shape) {
  const auto field = [](const char* name, int64_t value) {
    return ", \"" + std::string(name) + "\": " + std::to_string(value);
  };
  if (shape.t5) {
    return R"({"model_type": "t5", "feed_forward_proj": "relu", "decoder_start_token_id": 0)" +
           field("d_model", shape.hidden) + field("d_kv", shape.head_dim) + field("d_ff", shape.ffn) +
           field("num_layers", shape.layers) + field("num_heads", shape.heads) + field("vocab_size", shape.vocabulary) +
           "}";
  }
  return R"({"model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-6, "tie_word_embeddings": false)" +
         field("hidden_size", shape.hidden) + field("intermediate_size", shape.ffn) +
         field("num_hidden_layers", shape.layers) + field("num_attention_heads", shape.heads) +
         field("num_key_value_heads", shape.heads) + field("head_dim", shape.head_dim) +
         field("max_position_embeddings", 8192) + field("vocab_size", shape.vocabulary) + "}";
}

void write_tensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  std::string header = "{";
  int64_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const int64_t bytes = tensor.outputs * std::max<int64_t>(1, tensor.inputs) * static_cast<int64_t>(sizeof(float));
    header += (at == 0 ? "\"" : ", \"") + tensor.name + R"(": {"dtype": "F32", "shape": [)" +
              std::to_string(tensor.outputs) + (tensor.inputs > 0 ? ", " + std::to_string(tensor.inputs) : "") +
              R"(], "data_offsets": [)" + std::to_string(at) + ", " + std::to_string(at + bytes) + "]}";
    at += bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream file(path, std::ios::binary);
  const uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  std::mt19937 random(1);
  std::vector<float> values;
  for (const NamedTensor& tensor : tensors) {
    values.resize(static_cast<size_t>(tensor.outputs * std::max<int64_t>(1, tensor.inputs)));
    const float size = tensor.inputs > 0 ? 1.7F / std::sqrt(static_cast<float>(tensor.inputs)) : 1.0F;
    for (float& value : values) value = (static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F) * size;
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

RandomModel::RandomModel(const ModelShape& shape) {
  std::string path = std::filesystem::temp_directory_path() / "sidbeam_model_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
  folder_ = path;
  std::ofstream(folder_ + "/config.json") << config_of(shape);
  write_tensors(folder_ + "/model.safetensors", shape.t5 ? t5_tensors(shape) : llama_tensors(shape));
}

RandomModel::~RandomModel() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace bench
