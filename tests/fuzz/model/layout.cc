// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <algorithm>
#include <cstring>

namespace fuzz {
namespace {

struct HeadFields {
  uint16_t config, header, index;
  uint8_t flags, pattern;
  uint32_t data_bytes;
  uint16_t adapter, adapter_header;
  uint64_t length;
};

int64_t size_of(const Json& config, const char* name, int64_t absent = 1) {
  const auto found = config.find(name);
  return found != config.end() && found->is_number_integer() ? found->get<int64_t>() : absent;
}
std::string text_of(const Json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}
bool is_true(const Json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

struct Tensors {
  Json header = Json::object();
  void add(const std::string& name, std::vector<int64_t> shape) {
    header[name] = {{"dtype", "BF16"}, {"shape", std::move(shape)}};
  }
};

void add_t5_stack(Tensors& to, const Json& config, const std::string& stack, int64_t layers) {
  const int64_t hidden = size_of(config, "d_model"), heads = size_of(config, "num_heads");
  const int64_t inner = heads * size_of(config, "d_kv"), ffn = size_of(config, "d_ff");
  const std::string type = text_of(config, "model_type");
  const bool gated = config.contains("feed_forward_proj") ? text_of(config, "feed_forward_proj").rfind("gated-", 0) == 0
                                                          : type == "mt5" || type == "umt5";
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string block = stack + ".block." + std::to_string(layer) + ".layer.";
    const auto attention = [&](const std::string& name) {
      for (const char* part : {"q", "k", "v"}) to.add(name + "." + part + ".weight", {inner, hidden});
      to.add(name + ".o.weight", {hidden, inner});
    };
    int sublayer = 0;
    const auto norm = [&] { to.add(block + std::to_string(sublayer++) + ".layer_norm.weight", {hidden}); };
    attention(block + "0.SelfAttention");
    if (layer == 0 || type == "umt5")
      to.add(block + "0.SelfAttention.relative_attention_bias.weight",
             {size_of(config, "relative_attention_num_buckets", 32), heads});
    norm();
    if (stack == "decoder") {
      attention(block + "1.EncDecAttention");
      norm();
    }
    const std::string dense = block + std::to_string(sublayer) + ".DenseReluDense.";
    if (gated) {
      to.add(dense + "wi_0.weight", {ffn, hidden});
      to.add(dense + "wi_1.weight", {ffn, hidden});
    } else {
      to.add(dense + "wi.weight", {ffn, hidden});
    }
    to.add(dense + "wo.weight", {hidden, ffn});
    norm();
  }
  to.add(stack + ".final_layer_norm.weight", {hidden});
}

void add_decoder_layer(Tensors& to, const Json& config, const std::string& layer) {
  const std::string type = text_of(config, "model_type");
  const int64_t hidden = size_of(config, "hidden_size"), ffn = size_of(config, "intermediate_size");
  const int64_t heads = size_of(config, "num_attention_heads"),
                kv_heads = size_of(config, "num_key_value_heads", heads);
  const int64_t head_dim = size_of(config, "head_dim", hidden / std::max<int64_t>(heads, 1));
  const bool biased = is_true(config, "attention_bias") && (type == "llama" || type == "qwen3");
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
    to.add(layer + name + ".weight", {outputs, inputs});
    if (bias) to.add(layer + name + ".bias", {outputs});
  };
  if (type == "phi3") {
    linear("self_attn.qkv_proj", (heads + 2 * kv_heads) * head_dim, hidden, false);
    linear("mlp.gate_up_proj", 2 * ffn, hidden, false);
  } else {
    linear("self_attn.q_proj", heads * head_dim, hidden, biased || type == "qwen2");
    linear("self_attn.k_proj", kv_heads * head_dim, hidden, biased || type == "qwen2");
    linear("self_attn.v_proj", kv_heads * head_dim, hidden, biased || type == "qwen2");
  }
  linear("self_attn.o_proj", hidden, heads * head_dim, biased);
  if (type == "qwen3")
    for (const char* name : {"q", "k"}) to.add(layer + "self_attn." + name + "_norm.weight", {head_dim});
  const bool mlp_bias = is_true(config, "mlp_bias") && type == "llama";
  if (type != "phi3")
    for (const char* name : {"mlp.gate_proj", "mlp.up_proj"}) linear(name, ffn, hidden, mlp_bias);
  linear("mlp.down_proj", hidden, ffn, mlp_bias);
  for (const char* name : {"input", "post_attention"}) to.add(layer + name + "_layernorm.weight", {hidden});
}

int64_t bits_of(const std::string& type) {
  if (type == "F32" || type == "I32" || type == "U32") return 32;
  if (type == "F64" || type == "I64" || type == "U64" || type == "C64") return 64;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16") return 16;
  return type == "F4" ? 4 : 8;
}

std::vector<uint8_t> safetensors(const std::string& header, uint64_t length, uint32_t data_bytes, uint64_t pattern) {
  std::vector<uint8_t> bytes(sizeof length);
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes.insert(bytes.end(), header.begin(), header.end());
  Random random{pattern};
  // Halves, of either kind, that are small numbers.
  for (uint32_t i = 0; i < data_bytes; ++i)
    bytes.push_back(static_cast<uint8_t>(i % 2 == 0 ? random.next() : 0x3b + (random.next() & 0x81)));
  return bytes;
}

}  // namespace

ModelInput decode_model(const uint8_t* data, size_t size) {
  ModelInput input;
  HeadFields head{};
  if (size < sizeof head) return input;
  std::memcpy(&head, data, sizeof head);
  std::string rest(reinterpret_cast<const char*>(data) + sizeof head, size - sizeof head);
  const auto take = [&rest](size_t count) {
    std::string taken = rest.substr(0, count);
    rest.erase(0, count);
    return taken;
  };
  input.config = take(head.config);
  input.header = take(head.header);
  input.index = take(head.index);
  input.adapter = take(head.adapter);
  input.adapter_header = take(head.adapter_header);
  input.flags = head.flags;
  input.pattern = head.pattern;
  input.data_bytes = std::min(head.data_bytes, kMostData);
  input.length = head.length;
  return input;
}

std::vector<uint8_t> encode_model(const ModelInput& input) {
  const std::string* const texts[] = {&input.config, &input.header, &input.index, &input.adapter,
                                      &input.adapter_header};
  for (const std::string* text : texts)
    if (text->size() > UINT16_MAX) return {};
  const HeadFields head{static_cast<uint16_t>(input.config.size()),
                        static_cast<uint16_t>(input.header.size()),
                        static_cast<uint16_t>(input.index.size()),
                        input.flags,
                        input.pattern,
                        input.data_bytes,
                        static_cast<uint16_t>(input.adapter.size()),
                        static_cast<uint16_t>(input.adapter_header.size()),
                        input.length};
  std::vector<uint8_t> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  for (const std::string* text : texts) bytes.insert(bytes.end(), text->begin(), text->end());
  return bytes;
}

std::vector<uint8_t> weights_file(const ModelInput& input) {
  return safetensors(input.header, input.header.size() + input.length, input.data_bytes, input.pattern);
}

std::vector<uint8_t> adapter_file(const ModelInput& input) {
  const Json header = Json::parse(input.adapter_header, nullptr, false);
  int64_t bytes = 0;
  for (const Json& tensor : header.is_object() ? header : Json::object()) {
    if (!tensor.is_object() || !tensor.contains("data_offsets")) continue;
    const Json& offsets = tensor["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[1].is_number_integer()) continue;
    bytes = std::max(bytes, offsets[1].get<int64_t>());
  }
  return safetensors(input.adapter_header, input.adapter_header.size(),
                     static_cast<uint32_t>(std::min<int64_t>(bytes, kMostData)), input.pattern + 1);
}

Json tensors_of(const Json& config) {
  Tensors tensors;
  if (!config.is_object()) return tensors.header;
  for (const auto& [name, value] : config.items())
    if (value.is_number_integer() && (value.get<int64_t>() < 0 || value.get<int64_t>() > 512) &&
        name.find("position") == std::string::npos && name.find("distance") == std::string::npos)
      return tensors.header;
  const int64_t vocabulary = size_of(config, "vocab_size");
  if (config.contains("d_model")) {
    const int64_t layers = size_of(config, "num_layers");
    tensors.add("shared.weight", {vocabulary, size_of(config, "d_model")});
    add_t5_stack(tensors, config, "encoder", std::min<int64_t>(layers, 2));
    add_t5_stack(tensors, config, "decoder", std::min<int64_t>(size_of(config, "num_decoder_layers", layers), 2));
    return tensors.header;
  }
  const int64_t hidden = size_of(config, "hidden_size");
  tensors.add("model.embed_tokens.weight", {vocabulary, hidden});
  for (int64_t layer = 0; layer < std::min<int64_t>(size_of(config, "num_hidden_layers"), 3); ++layer)
    add_decoder_layer(tensors, config, "model.layers." + std::to_string(layer) + ".");
  tensors.add("model.norm.weight", {hidden});
  if (!is_true(config, "tie_word_embeddings")) tensors.add("lm_head.weight", {vocabulary, hidden});
  return tensors.header;
}

uint32_t place_tensors(Json& header) {
  int64_t at = 0;
  for (auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || !tensor.is_object() || !tensor.contains("shape") || !tensor["shape"].is_array())
      continue;
    int64_t bits = tensor.contains("dtype") && tensor["dtype"].is_string() ? bits_of(tensor["dtype"]) : 8;
    for (const Json& dimension : tensor["shape"]) {
      const int64_t size = dimension.is_number_integer() ? dimension.get<int64_t>() : 1;
      bits = size < 0 || size > kMostData ? 0 : std::min<int64_t>(bits * size, int64_t{1} << 30);
    }
    const int64_t end = std::min<int64_t>(at + bits / 8, kMostData);
    tensor["data_offsets"] = {at, end};
    at = end;
  }
  return static_cast<uint32_t>(at);
}

Json index_of_tensors(const Json& header) {
  Json map = Json::object();
  for (const auto& [name, tensor] : header.items())
    if (name != "__metadata__") map[name] = "a.safetensors";
  return {{"metadata", {{"total_size", 0}}}, {"weight_map", map}};
}

Json adapter_tensors_of(const Json& config, int64_t rank, size_t replaced) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::pair<std::string, std::vector<int64_t>>> matrices;
  const Json header = tensors_of(config);
  for (const auto& [name, tensor] : header.items())
    if (tensor["shape"].size() == 2) matrices.emplace_back(name, tensor["shape"].get<std::vector<int64_t>>());
  Tensors tensors;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const auto& [name, shape] = matrices[i];
    const std::string whole = "base_model.model." + name;
    const std::string module = whole.substr(0, whole.size() - kWeight.size());
    if (i + replaced >= matrices.size()) {
      tensors.add(whole, shape);
    } else if (module.ends_with("embed_tokens") || module.ends_with("shared")) {  // the product is transposed
      tensors.add(module + ".lora_embedding_A", {rank, shape[0]});
      tensors.add(module + ".lora_embedding_B", {shape[1], rank});
    } else {
      tensors.add(module + ".lora_A.weight", {rank, shape[1]});
      tensors.add(module + ".lora_B.weight", {shape[0], rank});
    }
  }
  return tensors.header;
}

}  // namespace fuzz
