// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runner/formats/fields.h"
#include "runner/formats/text_file.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using Family = ModelConfig::Family;
using Activation = ModelConfig::Activation;

// Products of any two fit an int64; token ids fit an int32.
constexpr int64_t kMostSize = int64_t{1} << 24, kMostLayers = 4096, kMostTokens = int64_t{1} << 30;
constexpr int64_t kMostPositions = int64_t{1} << 40;

struct FamilyName {
  Family family;
  const char* name;
  const char* architectures[3];  // with an output layer over tokens
};
constexpr FamilyName kFamilies[] = {
    {Family::kT5, "t5", {"T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model"}},
    {Family::kLlama, "llama", {"LlamaForCausalLM", "LLaMAForCausalLM", "LlamaModel"}},
    {Family::kQwen2, "qwen2", {"Qwen2ForCausalLM", "Qwen2Model", nullptr}},
    {Family::kQwen3, "qwen3", {"Qwen3ForCausalLM", "Qwen3Model", nullptr}},
};

const FamilyName& read_family(const ObjectReader& file) {
  const std::string type = file.text("model_type");
  for (const FamilyName& family : kFamilies)
    if (type == family.name) return family;
  file.unsupported("model_type", quoted(type), "t5, llama, qwen2 or qwen3");
}

void check_architectures(const ObjectReader& file, const FamilyName& family) {
  for (const std::string_view name : file.texts("architectures")) {
    const auto known = [&](const char* architecture) { return architecture != nullptr && name == architecture; };
    if (std::none_of(std::begin(family.architectures), std::end(family.architectures), known))
      file.unsupported("architectures", quoted(name), family.architectures[0]);
  }
}

// Settings of any family under which the arithmetic is another.
void refuse_settings(const ObjectReader& file) {
  for (const char* name : {"quantization_config", "compression_config", "per_layer_config", "pruned_heads"})
    if (file.has(name) && (file.find(name)->kind != JsonKind::kObject || file.object(name) != nullptr))
      file.unsupported(name, "set", "none: this runner reads F32, F16 and BF16 weights of the family as published");
  for (const char* name : {"tie_encoder_decoder", "add_cross_attention", "use_mrope"})
    if (file.boolean(name, false)) file.unsupported(name, "true", "false");
  if (const Field* map = file.object("auto_map"))
    if (file.has_name_like(*map, "AutoModel")) file.unsupported("auto_map", "a model of its own code", "none");
}

// A second name of the same field must say the same.
void check_same(const ObjectReader& file, const char* name, int64_t value, const char* first) {
  if (file.has(name) && file.integer(name, 0, kMostPositions) != value)
    file.corrupt(name, std::to_string(file.integer(name, 0, kMostPositions)), first);
}

int32_t read_size(const ObjectReader& file, const char* name) {
  return static_cast<int32_t>(file.integer(name, 1, kMostSize));
}

// The function `value`, of the field `name`, which says `whole`.
Activation read_activation(const ObjectReader& file, const char* name, std::string_view value, std::string_view whole) {
  if (value == "relu") return Activation::kRelu;
  if (value == "gelu") return Activation::kGelu;
  if (value == "gelu_new" || value == "gelu_pytorch_tanh" || value == "gelu_fast") return Activation::kGeluTanh;
  if (value == "silu" || value == "swish") return Activation::kSilu;
  file.unsupported(name, quoted(whole), "relu, gelu, gelu_new or silu");
}

// "relu" or "gated-silu"; "gated-gelu" means gelu_new. Newer files repeat the result in two more fields.
void read_feed_forward(const ObjectReader& file, ModelConfig& config) {
  constexpr char kName[] = "feed_forward_proj", kGated[] = "gated-";
  const std::string value = file.text(kName, "relu");
  config.gated = value.rfind(kGated, 0) == 0;
  const std::string name = config.gated ? value.substr(sizeof kGated - 1) : value;
  config.activation = read_activation(file, kName, value == "gated-gelu" ? "gelu_new" : name, value);
  if (file.boolean("is_gated_act", config.gated) != config.gated)
    file.corrupt("is_gated_act", config.gated ? "false" : "true", ("feed_forward_proj's " + quoted(value)).c_str());
  if (file.find("dense_act_fn") == nullptr) return;
  const std::string act = file.text("dense_act_fn");
  if (read_activation(file, "dense_act_fn", act, act) != config.activation)
    file.corrupt("dense_act_fn", quoted(act), ("feed_forward_proj's " + quoted(value)).c_str());
}

// generate() asks generation_config.json first.
int32_t read_start_token(const ObjectReader& file, const std::string& folder, int64_t vocabulary) {
  constexpr char kName[] = "decoder_start_token_id";
  const auto token = [&](const ObjectReader& from) {
    return from.has(kName) ? static_cast<int32_t>(from.integer(kName, 0, vocabulary - 1)) : -1;
  };
  const std::string generation = path_within(folder, "generation_config.json");
  if (exists(generation)) {
    const Fields fields(generation);
    const int32_t found = token(ObjectReader(fields));
    if (found >= 0) return found;
  }
  return token(file);
}

// transformers ties the output layer unless the checkpoint has one, whatever tie_word_embeddings says; that decides on
// the scale where scale_decoder_outputs does not.
void read_t5_output(const ObjectReader& file, ModelConfig& config) {
  config.tied = true;
  const bool tie = !file.has("tie_word_embeddings") || file.boolean("tie_word_embeddings", true);
  if (file.boolean("scale_decoder_outputs", tie))
    config.output_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.hidden)));
}

void read_relative_positions(const ObjectReader& file, ModelConfig& config) {
  constexpr char kDistance[] = "relative_attention_max_distance";
  config.relative_buckets = static_cast<int32_t>(file.integer("relative_attention_num_buckets", 4, kMostSize, 32));
  config.relative_max_distance = static_cast<int32_t>(file.integer(kDistance, 1, int64_t{1} << 30, 128));
  // A bucket per distance up to half of the buckets, then wider ones up to max_distance.
  if (config.relative_max_distance <= config.relative_buckets / 2)
    file.corrupt(kDistance, std::to_string(config.relative_max_distance), "more than half of the buckets");
}

void read_t5(const ObjectReader& file, const std::string& folder, ModelConfig& config) {
  config.hidden = read_size(file, "d_model");
  config.heads = config.kv_heads = read_size(file, "num_heads");
  config.head_dim = read_size(file, "d_kv");
  config.ffn = read_size(file, "d_ff");
  config.encoder_layers = static_cast<int32_t>(file.integer("num_layers", 1, kMostLayers));
  config.layers = file.has("num_decoder_layers")
                      ? static_cast<int32_t>(file.integer("num_decoder_layers", 1, kMostLayers))
                      : config.encoder_layers;
  check_same(file, "hidden_size", config.hidden, "d_model");
  check_same(file, "num_attention_heads", config.heads, "num_heads");
  check_same(file, "num_hidden_layers", config.encoder_layers, "num_layers");
  check_same(file, "head_dim", config.head_dim, "d_kv");
  config.norm_epsilon = static_cast<float>(file.real("layer_norm_epsilon", 0.0, 1.0, 1e-6));
  read_feed_forward(file, config);
  if (!file.boolean("is_encoder_decoder", true)) file.unsupported("is_encoder_decoder", "false", "true");
  read_t5_output(file, config);
  read_relative_positions(file, config);
  config.decoder_start_token = read_start_token(file, folder, config.vocabulary);
}

// rope_parameters (transformers 5) or rope_scaling, with rope_theta within or beside it.
void read_rope(const ObjectReader& file, ModelConfig& config) {
  Rope& rope = config.rope;
  constexpr double kMost = 1e30;
  rope.theta = file.real("rope_theta", 1e-3, kMost, rope.theta);
  if (file.real("partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0)
    file.unsupported("partial_rotary_factor", "other than 1", "1");
  const Field* scaling = file.object("rope_scaling");
  const Field* parameters = file.object("rope_parameters");
  if (scaling != nullptr && parameters != nullptr)
    file.corrupt("rope_scaling", "beside rope_parameters", "one of them");
  if (scaling == nullptr) scaling = parameters;
  if (scaling == nullptr) return;
  const ObjectReader inner = file.within(*scaling);
  inner.check_scalars();
  rope.theta = inner.real("rope_theta", 1e-3, kMost, rope.theta);
  if (inner.real("partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0)
    inner.unsupported("partial_rotary_factor", "other than 1", "1");
  const std::string type = inner.text("rope_type", inner.text("type", "default").c_str());
  if (type == "default") return;
  if (type != "linear" && type != "llama3") inner.unsupported("rope_type", quoted(type), "default, linear or llama3");
  rope.factor = inner.real("factor", 1e-3, kMost);
  rope.scaling = Rope::Scaling::kLinear;
  if (type == "linear") return;
  rope.scaling = Rope::Scaling::kLlama3;
  rope.low_freq = inner.real("low_freq_factor", 1e-3, kMost);
  rope.high_freq = inner.real("high_freq_factor", 1e-3, kMost);
  if (rope.high_freq <= rope.low_freq) inner.corrupt("high_freq_factor", "at most low_freq_factor", "more");
  // The outer field counts first, as in transformers.
  constexpr char kOriginal[] = "original_max_position_embeddings";
  rope.original = file.find(kOriginal) != nullptr
                      ? file.real(kOriginal, 1, kMost)
                      : inner.real(kOriginal, 1, kMost, static_cast<double>(config.max_positions));
  if (rope.original == 0) inner.corrupt(kOriginal, "missing", "it or max_position_embeddings");
}

void check_attention(const ObjectReader& file, const ModelConfig& config) {
  const std::vector<std::string_view> types = file.texts("layer_types");
  for (const std::string_view type : types)
    if (type != "full_attention" && type != "attention")
      file.unsupported("layer_types", quoted(type), "full_attention in every layer");
  if (!types.empty() && types.size() != static_cast<size_t>(config.layers))
    file.corrupt("layer_types", "of " + std::to_string(types.size()) + " layers", "num_hidden_layers of them");
  if (config.family == Family::kLlama) {
    // Not a field of the family, but its cache would slide.
    if (file.has("sliding_window")) file.unsupported("sliding_window", "set", "null");
    if (file.has("attention_chunk_size")) file.unsupported("attention_chunk_size", "set", "null");
    return;
  }
  const bool slides = file.boolean("use_sliding_window", false) &&
                      (file.find("sliding_window") == nullptr || file.has("sliding_window"));
  if (types.empty() && slides && file.integer("max_window_layers", 0, kMostLayers, 28) < config.layers)
    file.unsupported("use_sliding_window", "true", "false, or max_window_layers of all layers");
}

void read_decoder(const ObjectReader& file, ModelConfig& config) {
  config.hidden = read_size(file, "hidden_size");
  config.ffn = read_size(file, "intermediate_size");
  config.layers = static_cast<int32_t>(file.integer("num_hidden_layers", 1, kMostLayers));
  config.heads = read_size(file, "num_attention_heads");
  // Llama's is the number of heads where it is absent; Qwen's would be 32, which nobody means.
  const Field* kv_heads = file.find("num_key_value_heads");
  const bool as_heads = kv_heads == nullptr ? config.family == Family::kLlama : kv_heads->kind == JsonKind::kNull;
  config.kv_heads = as_heads ? config.heads : read_size(file, "num_key_value_heads");
  if (config.heads % config.kv_heads != 0)
    file.corrupt("num_key_value_heads", std::to_string(config.kv_heads), "a divisor of num_attention_heads");
  if (file.has("head_dim") || config.family == Family::kQwen3)
    config.head_dim = read_size(file, "head_dim");
  else if (config.hidden % config.heads == 0)
    config.head_dim = config.hidden / config.heads;
  else
    file.corrupt("hidden_size", std::to_string(config.hidden), "a multiple of num_attention_heads, or head_dim");
  if (config.head_dim % 2 != 0) file.unsupported("head_dim", std::to_string(config.head_dim), "an even one");
  config.max_positions = file.integer("max_position_embeddings", 1, kMostPositions, 0);
  config.norm_epsilon = static_cast<float>(file.real("rms_norm_eps", 0.0, 1.0, 1e-6));
  const std::string activation = file.text("hidden_act", "silu");
  config.activation = read_activation(file, "hidden_act", activation, activation);
  config.tied = file.boolean("tie_word_embeddings", false);
  if (file.has("pretraining_tp") && file.integer("pretraining_tp", 1, kMostSize) != 1)
    file.unsupported("pretraining_tp", "other than 1", "1");
  if (file.boolean("is_encoder_decoder", false)) file.unsupported("is_encoder_decoder", "true", "false");
  read_rope(file, config);
  check_attention(file, config);
  const bool attention_bias = config.family != Family::kQwen2 && file.boolean("attention_bias", false);
  config.qkv_bias = attention_bias || config.family == Family::kQwen2;
  config.output_bias = attention_bias;
  config.mlp_bias = config.family == Family::kLlama && file.boolean("mlp_bias", false);
  config.qk_norm = config.family == Family::kQwen3;
}

}  // namespace

const char* name_of(Family family) { return kFamilies[static_cast<size_t>(family)].name; }

ModelConfig read_config(const char* folder) {
  const Fields fields(path_within(folder, "config.json"));
  const ObjectReader file(fields);
  const FamilyName& family = read_family(file);
  check_architectures(file, family);
  refuse_settings(file);
  ModelConfig config;
  config.family = family.family;
  config.vocabulary = file.integer("vocab_size", 1, kMostTokens);
  if (config.family == Family::kT5)
    read_t5(file, folder, config);
  else
    read_decoder(file, config);
  return config;
}

}  // namespace sidbeam::runner
