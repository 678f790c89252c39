// SPDX-License-Identifier: Apache-2.0
#include "change.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace fuzz {
namespace {

// Fields that readers of configs know, of models and of adapters, and values that some of them may have.
constexpr char kFields[] =
    "model_type architectures vocab_size d_model d_kv d_ff num_layers num_decoder_layers num_heads "
    "relative_attention_num_buckets relative_attention_max_distance feed_forward_proj dense_act_fn is_gated_act "
    "layer_norm_epsilon tie_word_embeddings scale_decoder_outputs decoder_start_token_id is_encoder_decoder "
    "hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim hidden_act "
    "attention_bias mlp_bias max_position_embeddings rms_norm_eps rope_theta rope_scaling rope_parameters rope_type "
    "type factor low_freq_factor high_freq_factor original_max_position_embeddings partial_rotary_factor "
    "pretraining_tp quantization_config per_layer_config pruned_heads auto_map AutoModel tie_encoder_decoder "
    "add_cross_attention use_mrope use_sliding_window sliding_window max_window_layers layer_types "
    "attention_chunk_size attention_factor beta_fast beta_slow mscale mscale_all_dim truncate dtype shape data_offsets "
    "__metadata__ weight_map metadata peft_type base_model_name_or_path r lora_alpha use_rslora bias use_dora "
    "fan_in_fan_out lora_bias rank_pattern alpha_pattern init_lora_weights layer_replication modules_to_save "
    "target_modules trainable_token_indices";
constexpr char kTexts[] =
    "t5 mt5 umt5 llama mistral qwen2 qwen3 phi3 relu gelu gelu_new silu quick_gelu mish tanh gated-silu gated-gelu "
    "gated- default linear "
    "llama3 yarn dynamic "
    "full_attention sliding_attention T5ForConditionalGeneration LlamaForCausalLM F32 F16 BF16 I8 F4 F64 F6_E2M3 "
    "NEW a.safetensors ./a.safetensors ../a.safetensors config.json LORA IA3 none all lora_only pissa gaussian "
    "someone/base base ../base base/ .. adapter";
std::string pick_word(const char* words, Random& random) {
  std::istringstream stream(words);
  const std::vector<std::string> all(std::istream_iterator<std::string>(stream), {});
  return all[random.below(all.size())];
}

Json random_value(Random& random) {
  switch (random.below(10)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return pick_word(kTexts, random);
    case 3:
      return static_cast<double>(random.skewed(20)) / 64;
    case 4:
      return random.one_in(2) ? Json(1e300) : Json(UINT64_MAX - random.below(3));
    case 5:
      return Json::array({random.pick(kHardNumbers), pick_word(kTexts, random)});
    case 6:
      return Json{{pick_word(kFields, random), random.pick(kHardNumbers)},
                  {pick_word(kFields, random), pick_word(kTexts, random)}};
    case 7:
      return static_cast<int64_t>(random.skewed(9));
    default:
      return random.pick(kHardNumbers);
  }
}

// A value somewhere within: the deeper the document, the deeper the value.
Json& pick_value(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && (at == &json || !random.one_in(4)))
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random.below(at->size())));
  return *at;
}

}  // namespace

Json similar_value(const Json& value, Random& random) {
  if (random.one_in(8)) return random_value(random);
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return pick_word(kTexts, random);
  if (value.is_number_integer() && random.one_in(3)) return random.pick(kHardNumbers);
  if (value.is_number_integer() && random.one_in(2))
    return static_cast<int64_t>(value.get<uint64_t>() + random.below(5) - 2);
  if (value.is_number_integer()) return static_cast<int64_t>(random.skewed(9));
  if (value.is_number()) return value.get<double>() * static_cast<double>(random.skewed(20)) / 1024;
  return random_value(random);
}

std::string some_text(Random& random) { return pick_word(kTexts, random); }

std::optional<Json> parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

void change_json(Json& json, Random& random) {
  Json& value = pick_value(json, random);
  const uint64_t way = random.below(12);
  if (way > 6) {
    value = similar_value(value, random);
  } else if (way == 4 && value.is_array()) {
    value.push_back(random_value(random));
  } else if (way == 5 && json.is_object() && !json.empty()) {
    json.erase(std::next(json.begin(), static_cast<std::ptrdiff_t>(random.below(json.size()))));
  } else if (way == 6) {
    Json& other = pick_value(json, random);
    const Json copy = other;
    value = copy;
  } else if (json.is_object()) {
    (value.is_object() ? value : json)[pick_word(kFields, random)] = random_value(random);
  }
}

void change_text(std::string& text, Random& random, MutateBytes mutate_bytes) {
  if (random.one_in(2) && !text.empty()) {
    const size_t from = text.find('"', random.below(text.size()));
    const size_t to = from == std::string::npos ? from : text.find(',', from);
    if (to == std::string::npos) return;
    const std::string piece = text.substr(from, to + 1 - from);
    text.insert(random.one_in(2) ? from : std::min(text.size(), text.find('"', random.below(text.size()))), piece);
    return;
  }
  const size_t size = text.size(), most = size + 16;
  text.resize(most);
  text.resize(mutate_bytes(reinterpret_cast<uint8_t*>(text.data()), size, most));
}

}  // namespace fuzz
