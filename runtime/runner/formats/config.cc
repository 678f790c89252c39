// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runner/formats/fields.h"
#include "runner/formats/text_file.h"
#include "support/error.h"
#include "support/portable_math.h"

namespace sidbeam::runner {
namespace {

using Family = ModelConfig::Family;
using Activation = ModelConfig::Activation;

// Products of any two, and of one and kMostTokens, fit an int64.
constexpr int64_t kMostSize = int64_t{1} << 24, kMostLayers = 4096;
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
    {Family::kMistral, "mistral", {"MistralForCausalLM", "MistralModel", nullptr}},
    {Family::kPhi3, "phi3", {"Phi3ForCausalLM", "Phi3Model", nullptr}},
    {Family::kMt5, "mt5", {"MT5ForConditionalGeneration", "MT5Model", nullptr}},
    {Family::kUmt5, "umt5", {"UMT5ForConditionalGeneration", "UMT5Model", nullptr}},
};

const FamilyName& read_family(const ObjectReader& file) {
  const std::string type = file.text("model_type");
  for (const FamilyName& family : kFamilies)
    if (type == family.name) return family;
  file.unsupported("model_type", in_quotes(type), "t5, mt5, umt5, llama, mistral, qwen2, qwen3 or phi3");
}

void check_architectures(const ObjectReader& file, const FamilyName& family) {
  for (const std::string_view name : file.texts("architectures")) {
    const auto known = [&](const char* architecture) { return architecture != nullptr && name == architecture; };
    if (std::none_of(std::begin(family.architectures), std::end(family.architectures), known))
      file.unsupported("architectures", in_quotes(name), family.architectures[0]);
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
  if (value == "gelu" || value == "gelu_python") return Activation::kGelu;
  if (value == "gelu_new" || value == "gelu_pytorch_tanh" || value == "gelu_fast") return Activation::kGeluTanh;
  if (value == "silu" || value == "swish") return Activation::kSilu;
  if (value == "quick_gelu") return Activation::kQuickGelu;
  if (value == "mish") return Activation::kMish;
  if (value == "tanh") return Activation::kTanh;
  file.unsupported(name, in_quotes(whole), "relu, gelu, gelu_new, quick_gelu, silu, mish or tanh");
}

// "relu" or "gated-silu"; "gated-gelu" means gelu_new. Newer files repeat the result in two more fields.
void read_feed_forward(const ObjectReader& file, ModelConfig& config) {
  constexpr char kName[] = "feed_forward_proj", kGated[] = "gated-";
  const std::string value = file.text(kName, config.family == Family::kT5 ? "relu" : "gated-gelu");
  config.gated = value.rfind(kGated, 0) == 0;
  const std::string name = config.gated ? value.substr(sizeof kGated - 1) : value;
  config.activation = read_activation(file, kName, value == "gated-gelu" ? "gelu_new" : name, value);
  if (file.boolean("is_gated_act", config.gated) != config.gated)
    file.corrupt("is_gated_act", config.gated ? "false" : "true", ("feed_forward_proj's " + in_quotes(value)).c_str());
  if (file.find("dense_act_fn") == nullptr) return;
  const std::string act = file.text("dense_act_fn");
  if (read_activation(file, "dense_act_fn", act, act) != config.activation)
    file.corrupt("dense_act_fn", in_quotes(act), ("feed_forward_proj's " + in_quotes(value)).c_str());
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
// a T5's scale where scale_decoder_outputs does not. An mT5 has none, an umT5 always has it.
void read_t5_output(const ObjectReader& file, ModelConfig& config) {
  config.tied = true;
  if (config.family == Family::kMt5) return;
  const bool tie = !file.has("tie_word_embeddings") || file.boolean("tie_word_embeddings", true);
  if (config.family == Family::kUmt5 || file.boolean("scale_decoder_outputs", tie))
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
  config.bias_per_layer = config.family == Family::kUmt5;
  config.decoder_start_token = read_start_token(file, folder, config.vocabulary);
}

// The number, or `absent` where the field is null, too.
double real_unless_null(const ObjectReader& file, const char* name, double lowest, double highest, double absent) {
  return file.has(name) ? file.real(name, lowest, highest) : absent;
}

constexpr double kMostReal = 1e30;

// Positions of the training before the scaling. The outer field counts first, as in transformers.
double read_original(const ObjectReader& file, const ObjectReader& inner, const ModelConfig& config) {
  constexpr char kName[] = "original_max_position_embeddings";
  const double original = file.find(kName) != nullptr
                              ? file.real(kName, 1, kMostReal)
                              : inner.real(kName, 1, kMostReal, static_cast<double>(config.max_positions));
  if (original == 0) inner.corrupt(kName, "missing", "it or max_position_embeddings");
  return original;
}

void read_llama3(const ObjectReader& file, const ObjectReader& inner, ModelConfig& config) {
  Rope& rope = config.rope;
  rope.scaling = Rope::Scaling::kLlama3;
  rope.factor = inner.real("factor", 1e-3, kMostReal);
  rope.low_freq = inner.real("low_freq_factor", 1e-3, kMostReal);
  rope.high_freq = inner.real("high_freq_factor", 1e-3, kMostReal);
  if (rope.high_freq <= rope.low_freq) inner.corrupt("high_freq_factor", "at most low_freq_factor", "more");
  rope.original = read_original(file, inner, config);
}

// The factor of an attention that sees `scale` times as far.
double attention_of(double scale, double by) { return scale <= 1 ? 1.0 : 0.1 * by * portable_log(scale) + 1.0; }

void read_yarn(const ObjectReader& file, const ObjectReader& inner, ModelConfig& config) {
  Rope& rope = config.rope;
  rope.scaling = Rope::Scaling::kYarn;
  rope.original = read_original(file, inner, config);
  rope.factor = real_unless_null(inner, "factor", 1e-3, kMostReal,
                                 static_cast<double>(std::max<int64_t>(config.max_positions, 1)) / rope.original);
  const double fast = real_unless_null(inner, "beta_fast", 0, 1e6, 0),
               slow = real_unless_null(inner, "beta_slow", 0, 1e6, 0);
  if (fast != 0) rope.beta_fast = fast;
  if (slow != 0) rope.beta_slow = slow;
  if (rope.theta == 1) inner.corrupt("rope_theta", "1", "another base");
  rope.truncate = inner.boolean("truncate", true);
  const double scale = real_unless_null(inner, "mscale", 0, 1e6, 0);
  const double of_all = real_unless_null(inner, "mscale_all_dim", 0, 1e6, 0);
  rope.attention = scale != 0 && of_all != 0 ? attention_of(rope.factor, scale) / attention_of(rope.factor, of_all)
                                             : attention_of(rope.factor, 1);
  rope.attention = real_unless_null(inner, "attention_factor", 1e-3, 1e6, rope.attention);
}

void read_scaling(const ObjectReader& file, const ObjectReader& inner, ModelConfig& config) {
  const std::string type = inner.text("rope_type", inner.text("type", "default").c_str());
  const bool phi3 = config.family == Family::kPhi3;  // transformers takes any other for its longrope
  if (type == "default") return;
  if (type == "llama3" && !phi3) return read_llama3(file, inner, config);
  if (type == "yarn" && !phi3) return read_yarn(file, inner, config);
  if (type == "linear" && !phi3) {
    config.rope.scaling = Rope::Scaling::kLinear;
    config.rope.factor = inner.real("factor", 1e-3, kMostReal);
  } else if (type == "dynamic" && !phi3) {
    // Begins beyond the positions that the config names, which are all that a runner has.
    inner.real("factor", 1e-3, kMostReal);
    if (config.max_positions == 0) file.corrupt("max_position_embeddings", "missing", "it, beside dynamic scaling");
  } else {
    inner.unsupported("rope_type", in_quotes(type), phi3 ? "default" : "default, linear, dynamic, yarn or llama3");
  }
}

// rope_parameters (transformers 5) or rope_scaling, with rope_theta within or beside it.
void read_rope(const ObjectReader& file, ModelConfig& config) {
  Rope& rope = config.rope;
  rope.theta = real_unless_null(file, "rope_theta", 1e-3, kMostReal, rope.theta);
  if (real_unless_null(file, "partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0)
    file.unsupported("partial_rotary_factor", "other than 1", "1");
  const Field* scaling = file.object("rope_scaling");
  const Field* parameters = file.object("rope_parameters");
  if (scaling != nullptr && parameters != nullptr)
    file.corrupt("rope_scaling", "beside rope_parameters", "one of them");
  if (scaling == nullptr) scaling = parameters;
  if (scaling == nullptr) return;
  const ObjectReader inner = file.within(*scaling);
  inner.check_scalars();
  rope.theta = real_unless_null(inner, "rope_theta", 1e-3, kMostReal, rope.theta);
  if (real_unless_null(inner, "partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0)
    inner.unsupported("partial_rotary_factor", "other than 1", "1");
  read_scaling(file, inner, config);
}

// Of Qwen's layers from max_window_layers on; the types of layers say it, too.
bool has_windows(const ObjectReader& file, const ModelConfig& config, const std::vector<std::string_view>& types) {
  if (config.family == Family::kMistral || config.family == Family::kPhi3) return true;
  if (!types.empty()) return std::find(types.begin(), types.end(), "sliding_attention") != types.end();
  return file.boolean("use_sliding_window", false) &&
         file.integer("max_window_layers", 0, kMostLayers, 28) < config.layers;
}

// A window that no position can reach the end of changes nothing: so it limits the positions.
void read_window(const ObjectReader& file, ModelConfig& config) {
  const std::vector<std::string_view> types = file.texts("layer_types");
  for (const std::string_view type : types)
    if (type != "full_attention" && type != "attention" && type != "sliding_attention")
      file.unsupported("layer_types", in_quotes(type), "full_attention or sliding_attention");
  if (!types.empty() && types.size() != static_cast<size_t>(config.layers))
    file.corrupt("layer_types", "of " + std::to_string(types.size()) + " layers", "num_hidden_layers of them");
  if (file.has("attention_chunk_size")) file.unsupported("attention_chunk_size", "set", "null");
  // Not a field of the family, but its cache would slide.
  if (config.family == Family::kLlama && file.has("sliding_window")) file.unsupported("sliding_window", "set", "null");
  if (!has_windows(file, config, types)) return;
  // What the family has where the field is absent.
  const int64_t absent = config.family == Family::kPhi3 ? 0 : 4096;
  const bool null = file.find("sliding_window") != nullptr && !file.has("sliding_window");
  const int64_t window = null ? 0 : file.integer("sliding_window", 1, kMostPositions, absent);
  if (window > 0 && (config.max_positions == 0 || window < config.max_positions)) config.max_positions = window;
}

void read_decoder(const ObjectReader& file, ModelConfig& config) {
  config.hidden = read_size(file, "hidden_size");
  config.ffn = read_size(file, "intermediate_size");
  config.layers = static_cast<int32_t>(file.integer("num_hidden_layers", 1, kMostLayers));
  config.heads = read_size(file, "num_attention_heads");
  // Llama's and Phi-3's is the number of heads where it is absent; Qwen's would be 32, Mistral's 8, which nobody means.
  const Field* kv_heads = file.find("num_key_value_heads");
  const bool may_lack = config.family == Family::kLlama || config.family == Family::kPhi3;
  const bool as_heads = kv_heads == nullptr ? may_lack : kv_heads->kind == JsonKind::kNull;
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
  const double epsilon = config.family == Family::kPhi3 ? 1e-5 : 1e-6;
  config.norm_epsilon = static_cast<float>(file.real("rms_norm_eps", 0.0, 1.0, epsilon));
  const std::string activation = file.text("hidden_act", "silu");
  config.activation = read_activation(file, "hidden_act", activation, activation);
  config.tied = file.boolean("tie_word_embeddings", false);
  if (file.has("pretraining_tp") && file.integer("pretraining_tp", 1, kMostSize) != 1)
    file.unsupported("pretraining_tp", "other than 1", "1");
  if (file.boolean("is_encoder_decoder", false)) file.unsupported("is_encoder_decoder", "true", "false");
  read_rope(file, config);
  read_window(file, config);
  const bool may_have_bias = config.family == Family::kLlama || config.family == Family::kQwen3;
  const bool attention_bias = may_have_bias && file.boolean("attention_bias", false);
  config.qkv_bias = attention_bias || config.family == Family::kQwen2;
  config.output_bias = attention_bias;
  config.mlp_bias = config.family == Family::kLlama && file.boolean("mlp_bias", false);
  config.qk_norm = config.family == Family::kQwen3;
  config.fused = config.family == Family::kPhi3;
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
  if (config.family == Family::kT5 || config.family == Family::kMt5 || config.family == Family::kUmt5)
    read_t5(file, folder, config);
  else
    read_decoder(file, config);
  return config;
}

}  // namespace sidbeam::runner
