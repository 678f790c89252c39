// Changes to a model's folder that know what its files say.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "layout.h"

namespace fuzz {
namespace {

const char* const kSpecimens[] = {
    R"({"architectures":["T5ForConditionalGeneration"],"model_type":"t5","vocab_size":12,"d_model":4,"d_kv":2,)"
    R"("d_ff":6,"num_layers":1,"num_heads":2,"relative_attention_num_buckets":8,"relative_attention_max_distance":16,)"
    R"("decoder_start_token_id":0,"is_encoder_decoder":true})",
    R"({"model_type":"t5","vocab_size":9,"d_model":4,"d_kv":2,"d_ff":6,"num_layers":1,"num_decoder_layers":2,)"
    R"("num_heads":2,"relative_attention_num_buckets":8,"feed_forward_proj":"gated-gelu","dense_act_fn":"gelu_new",)"
    R"("is_gated_act":true,"tie_word_embeddings":false,"layer_norm_epsilon":1e-06})",
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":12,"hidden_size":8,)"
    R"("intermediate_size":6,"num_hidden_layers":2,"num_attention_heads":2,"num_key_value_heads":1,)"
    R"("hidden_act":"silu","attention_bias":true,"mlp_bias":true,"max_position_embeddings":64,"rope_theta":500000.0,)"
    R"("rope_scaling":{"rope_type":"llama3","factor":32.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
    R"("original_max_position_embeddings":16},"rms_norm_eps":1e-05,"pretraining_tp":1})",
    R"({"model_type":"qwen2","vocab_size":12,"hidden_size":8,"intermediate_size":6,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"num_key_value_heads":2,"tie_word_embeddings":true,"use_sliding_window":false,)"
    R"("sliding_window":64,"max_window_layers":1,"rope_theta":1000000.0})",
    R"({"model_type":"qwen3","vocab_size":12,"hidden_size":8,"intermediate_size":6,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"num_key_value_heads":1,"head_dim":6,"layer_types":["full_attention"],)"
    R"("rope_parameters":{"rope_type":"linear","factor":2.0,"rope_theta":10000.0},"quantization_config":null})",
    R"({"model_type":"mistral","vocab_size":12,"hidden_size":8,"intermediate_size":6,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"num_key_value_heads":1,"sliding_window":32,"hidden_act":"quick_gelu",)"
    R"("rope_theta":null,"rope_scaling":{"type":"dynamic","factor":2.0},"max_position_embeddings":64})",
    R"({"model_type":"phi3","vocab_size":12,"hidden_size":8,"intermediate_size":6,"num_hidden_layers":2,)"
    R"("num_attention_heads":2,"hidden_act":"tanh","sliding_window":null,"original_max_position_embeddings":16})",
    R"({"model_type":"qwen2","vocab_size":12,"hidden_size":8,"intermediate_size":6,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"num_key_value_heads":2,"tie_word_embeddings":true,"hidden_act":"mish",)"
    R"("max_position_embeddings":64,"rope_scaling":{"type":"yarn","factor":4.0,"beta_fast":16,"beta_slow":1,)"
    R"("original_max_position_embeddings":16,"mscale":1.0,"mscale_all_dim":0.5,"truncate":false}})",
    R"({"model_type":"mt5","vocab_size":9,"d_model":4,"d_kv":2,"d_ff":6,"num_layers":1,"num_heads":2,)"
    R"("relative_attention_num_buckets":8,"tie_word_embeddings":false})",
    R"({"model_type":"umt5","vocab_size":9,"d_model":4,"d_kv":2,"d_ff":6,"num_layers":2,"num_heads":2,)"
    R"("relative_attention_num_buckets":8,"feed_forward_proj":"gelu_python"})",
};

// Fields that read_config() knows, and values that some of them may have.
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
    "__metadata__ weight_map metadata";
constexpr char kTexts[] =
    "t5 mt5 umt5 llama mistral qwen2 qwen3 phi3 relu gelu gelu_new silu quick_gelu mish tanh gated-silu gated-gelu "
    "gated- default linear "
    "llama3 yarn dynamic "
    "full_attention sliding_attention T5ForConditionalGeneration LlamaForCausalLM F32 F16 BF16 I8 F4 F64 F6_E2M3 "
    "NEW a.safetensors ./a.safetensors ../a.safetensors config.json";
const int64_t kNumbers[] = {0,  1,         2,         3,          4,         5,         7,         8,
                            16, 31,        64,        127,        255,       256,       65535,     1 << 24,
                            -1, INT32_MAX, 1LL << 31, UINT32_MAX, 1LL << 32, 1LL << 62, INT64_MAX, INT64_MIN};

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
      return Json::array({random.pick(kNumbers), pick_word(kTexts, random)});
    case 6:
      return Json{{pick_word(kFields, random), random.pick(kNumbers)},
                  {pick_word(kFields, random), pick_word(kTexts, random)}};
    case 7:
      return static_cast<int64_t>(random.skewed(9));
    default:
      return random.pick(kNumbers);
  }
}

// Of the kind that the reader expects, most of the time.
Json similar_value(const Json& value, Random& random) {
  if (random.one_in(8)) return random_value(random);
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return pick_word(kTexts, random);
  if (value.is_number_integer() && random.one_in(3)) return random.pick(kNumbers);
  if (value.is_number_integer() && random.one_in(2))
    return static_cast<int64_t>(value.get<uint64_t>() + random.below(5) - 2);
  if (value.is_number_integer()) return static_cast<int64_t>(random.skewed(9));
  if (value.is_number()) return value.get<double>() * static_cast<double>(random.skewed(20)) / 1024;
  return random_value(random);
}

std::optional<Json> parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

// A value somewhere within: the deeper the document, the deeper the value.
Json& pick_value(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && (at == &json || !random.one_in(4)))
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random.below(at->size())));
  return *at;
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

// What a tree of values cannot hold: a name twice, and texts that are no JSON.
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

// As wrappers of training name tensors, and models without their output layer.
void rename(Json& header, Random& random) {
  const char* const wrappers[] = {"", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "model."};
  const std::string outer = random.pick(wrappers);
  const bool bare = random.one_in(2);
  Json renamed = Json::object();
  for (const auto& [name, tensor] : header.items())
    renamed[outer + (bare && name.rfind("model.", 0) == 0 ? name.substr(6) : name)] = tensor;
  header = renamed;
}

void rebuild(ModelInput& input, Random& random) {
  const std::optional<Json> config = parse(input.config);
  Json header = tensors_of(config ? *config : Json());
  if (header.empty()) return;
  if (random.one_in(3))
    for (auto& [name, tensor] : header.items())
      tensor["dtype"] = random.one_in(8) ? "F64" : random.one_in(2) ? "F32" : "F16";
  if (random.one_in(4)) rename(header, random);
  if (random.one_in(8)) header["__metadata__"] = {{"format", "pt"}};
  input.data_bytes = place_tensors(header);
  input.header = header.dump();
  if (random.one_in(2)) input.header.append(random.below(9), ' ');
  if ((input.flags & ModelInput::kSharded) != 0) input.index = index_of_tensors(header).dump();
}

void change_config(ModelInput& input, Random& random) {
  std::optional<Json> config = parse(input.config);
  // Damage that has been done is often undone: no reader looks behind the first that it sees.
  if (!config || random.one_in(4)) config = Json::parse(random.pick(kSpecimens));
  for (uint64_t changes = 1 + random.skewed(2); changes > 0; --changes) change_json(*config, random);
  input.config = config->dump();
  if (random.one_in(2)) rebuild(input, random);
}

// One tensor of a header, which stays a header.
void change_tensor(Json& header, Random& random) {
  if (header.empty()) return;  // change_json() may have erased the last one
  Json& tensor = *std::next(header.begin(), static_cast<std::ptrdiff_t>(random.below(header.size())));
  if (!tensor.is_object() || !tensor.contains("shape") || !tensor["shape"].is_array()) return;
  Json& shape = tensor["shape"];
  switch (random.below(4)) {
    case 0:
      tensor["dtype"] = pick_word(kTexts, random);
      break;
    case 1:
      shape.push_back(random.one_in(2) ? Json(1) : Json(random.pick(kNumbers)));
      break;
    case 2:
      if (!shape.empty()) shape[random.below(shape.size())] = random.pick(kNumbers);
      break;
    default:
      if (!shape.empty()) shape.erase(random.below(shape.size()));
  }
}

// A place that is right by itself, or nearly.
void change_place(Json& header, Random& random) {
  Json& tensor = *std::next(header.begin(), static_cast<std::ptrdiff_t>(random.below(header.size())));
  if (!tensor.is_object() || !tensor.contains("data_offsets") || tensor["data_offsets"].size() != 2) return;
  Json& offset = tensor["data_offsets"][random.below(2)];
  offset = similar_value(offset, random);
}

void change_header(ModelInput& input, Random& random) {
  std::optional<Json> header = parse(input.header);
  if (!header || header->empty() || random.one_in(4)) {
    rebuild(input, random);
    header = parse(input.header);
    if (!header || header->empty()) return;
  }
  for (uint64_t changes = 1 + random.skewed(2); changes > 0; --changes)
    if (random.one_in(4))
      change_json(*header, random);
    else
      change_tensor(*header, random);
  if (!random.one_in(8)) input.data_bytes = place_tensors(*header);
  if (!header->empty() && random.one_in(4)) change_place(*header, random);
  input.header = header->dump();
}

void change_index(ModelInput& input, Random& random) {
  const char* const files[] = {"a.safetensors", "./a.safetensors", "../a.safetensors",
                               "b.safetensors", "config.json",     ""};
  std::optional<Json> index = parse(input.index);
  if (!index || random.one_in(4)) {
    input.flags |= ModelInput::kSharded;
    rebuild(input, random);
    index = parse(input.index);
    if (!index) return;
  }
  Json& map = (*index)["weight_map"];
  if (map.is_object() && !map.empty() && random.one_in(2))
    *std::next(map.begin(), static_cast<std::ptrdiff_t>(random.below(map.size()))) = random.pick(files);
  else
    change_json(*index, random);
  input.index = index->dump();
}

void change_sizes(ModelInput& input, Random& random) {
  switch (random.below(4)) {
    case 0:
      input.flags ^= static_cast<uint8_t>(1 + random.below(3));
      if (input.index.empty()) change_index(input, random);
      break;
    case 1:
      input.data_bytes = static_cast<uint32_t>(std::min<uint64_t>(input.data_bytes + random.below(9) - 4, kMostData));
      break;
    case 2:
      input.length = random.one_in(2) ? 0 : static_cast<uint64_t>(random.pick(kNumbers)) - random.below(300);
      break;
    default:
      input.pattern = static_cast<uint8_t>(random.next());
  }
}

}  // namespace

const std::vector<ModelInput>& model_specimens() {
  static const std::vector<ModelInput> specimens = [] {
    std::vector<ModelInput> made;
    for (const char* config : kSpecimens) {
      for (const uint8_t flags : {uint8_t{0}, uint8_t{ModelInput::kSharded}}) {
        ModelInput input;
        input.config = config;
        input.flags = flags;
        Json header = tensors_of(Json::parse(config));
        input.data_bytes = place_tensors(header);
        input.header = header.dump();
        if (flags != 0) input.index = index_of_tensors(header).dump();
        made.push_back(input);
      }
    }
    return made;
  }();
  return specimens;
}

std::vector<uint8_t> mutate_model(const uint8_t* data, size_t size, size_t most, Random& random,
                                  MutateBytes mutate_bytes) {
  ModelInput input = decode_model(data, size);
  if (input.config.empty() && input.header.empty()) input = random.pick(model_specimens());
  for (uint64_t changes = 1 + random.skewed(2); changes > 0; --changes) {
    const uint64_t way = random.below(16);
    if (way < 6)
      change_config(input, random);
    else if (way < 10)
      change_header(input, random);
    else if (way < 12)
      change_index(input, random);
    else if (way < 14)
      change_sizes(input, random);
    else
      change_text(way == 14 ? input.config : random.one_in(2) ? input.header : input.index, random, mutate_bytes);
  }
  std::vector<uint8_t> bytes = encode_model(input);
  return bytes.size() > most ? std::vector<uint8_t>(data, data + size) : bytes;
}

}  // namespace fuzz
