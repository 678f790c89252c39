// Changes to a model's folder that know what its files say.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "change.h"

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

// Both tensors of a module, or the one that takes its place.
void drop_module(Json& header, Random& random) {
  const std::string name = std::next(header.begin(), static_cast<std::ptrdiff_t>(random.below(header.size()))).key();
  const std::string module = name.substr(0, name.find(".lora_"));
  Json kept = Json::object();
  for (const auto& [other, tensor] : header.items())
    if (other.rfind(module, 0) != 0) kept[other] = tensor;
  if (!kept.empty()) header = kept;
}

// Fits the model, and `replaced` of its tensors are in place of the model's.
void add_adapter(ModelInput& input, int64_t rank, size_t replaced) {
  const std::optional<Json> config = parse(input.config);
  Json header = adapter_tensors_of(config ? *config : Json(), rank, replaced);
  if (header.empty()) return;
  place_tensors(header);
  input.adapter_header = header.dump();
  input.adapter = Json{{"peft_type", "LORA"},
                       {"base_model_name_or_path", "someone/base"},
                       {"r", rank},
                       {"lora_alpha", 2 * rank},
                       {"bias", "none"},
                       {"target_modules", {"q_proj", "v_proj"}},
                       {"rank_pattern", Json::object()}}
                      .dump();
  input.flags |= ModelInput::kAdapted;
}

void renew_adapter(ModelInput& input, Random& random) {
  const auto rank = static_cast<int64_t>(1 + random.skewed(3));
  add_adapter(input, rank, random.one_in(4) ? random.below(4) : 0);
  std::optional<Json> header = parse(input.adapter_header);
  if (!header) return;
  for (auto& [name, tensor] : header->items())
    if (tensor.is_object() && random.one_in(4)) tensor["dtype"] = random.one_in(2) ? "F32" : "F16";
  while (header->size() > 2 && !random.one_in(3)) drop_module(*header, random);
  place_tensors(*header);
  input.adapter_header = header->dump();
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
  if ((input.flags & ModelInput::kAdapted) != 0 && !random.one_in(4)) renew_adapter(input, random);
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
      tensor["dtype"] = some_text(random);
      break;
    case 1:
      shape.push_back(random.one_in(2) ? Json(1) : Json(random.pick(kHardNumbers)));
      break;
    case 2:
      if (!shape.empty()) shape[random.below(shape.size())] = random.pick(kHardNumbers);
      break;
    default:
      if (!shape.empty()) shape.erase(random.below(shape.size()));
  }
}

// A place that is right by itself, or nearly.
void change_place(Json& header, Random& random) {
  Json& tensor = *std::next(header.begin(), static_cast<std::ptrdiff_t>(random.below(header.size())));
  if (!tensor.is_object() || !tensor.contains("data_offsets")) return;
  Json& offsets = tensor["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) return;
  Json& offset = offsets[random.below(2)];
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
      input.length = random.one_in(2) ? 0 : static_cast<uint64_t>(random.pick(kHardNumbers)) - random.below(300);
      break;
    default:
      input.pattern = static_cast<uint8_t>(random.next());
  }
}

void change_adapter_tensors(ModelInput& input, Json& header, Random& random) {
  const uint64_t way = random.below(8);
  if (way == 0) {
    change_json(header, random);
  } else if (way == 1 && !header.empty()) {  // under another name
    const Json& from = *std::next(header.begin(), static_cast<std::ptrdiff_t>(random.below(header.size())));
    const char* const ends[] = {"model.layers.0.self_attn.q_proj.lora_A.weight", "model.embed_tokens.weight",
                                "lm_head.lora_B.weight", "model.embed_tokens.lora_embedding_A", "lm_head.weight"};
    const Json copy = from;
    header[std::string("base_model.model.") + random.pick(ends)] = copy;
  } else {
    change_tensor(header, random);
  }
  if (!random.one_in(8)) place_tensors(header);
  input.adapter_header = header.dump();
}

void change_adapter(ModelInput& input, Random& random) {
  std::optional<Json> config = parse(input.adapter), header = parse(input.adapter_header);
  if (!config || !header || header->empty() || random.one_in(4)) return renew_adapter(input, random);
  const uint64_t way = random.below(8);
  if (way < 2) {
    constexpr uint8_t kFlags[] = {ModelInput::kApart, ModelInput::kApart | ModelInput::kGiven, ModelInput::kGiven,
                                  ModelInput::kAdapted, ModelInput::kUnweighted};
    input.flags ^= random.pick(kFlags);
  } else if (way < 5) {
    change_json(*config, random);
    input.adapter = config->dump();
  } else {
    change_adapter_tensors(input, *header, random);
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
    const size_t bare = made.size();
    for (size_t i = 0; i < bare; i += 2) {
      ModelInput input = made[i];
      add_adapter(input, 2, i % 3);
      if (i % 4 == 2) input.flags |= ModelInput::kApart;
      made.push_back(input);
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
    const uint64_t way = random.below(20);
    std::string* const texts[] = {&input.config, &input.header, &input.index, &input.adapter, &input.adapter_header};
    if (way < 6)
      change_config(input, random);
    else if (way < 10)
      change_header(input, random);
    else if (way < 12)
      change_index(input, random);
    else if (way < 14)
      change_sizes(input, random);
    else if (way < 18)
      change_adapter(input, random);
    else
      change_text(*random.pick(texts), random, mutate_bytes);
  }
  std::vector<uint8_t> bytes = encode_model(input);
  return bytes.size() > most ? std::vector<uint8_t>(data, data + size) : bytes;
}

}  // namespace fuzz
