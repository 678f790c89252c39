// config.json: every refusal.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "edited_config.h"

namespace sidbeam::runner {
namespace {

TEST(RunnerConfig, RefusesOtherRopes) {
  for (const char* type : {"longrope", "proportional", "su", "mrope"}) {
    const std::string phrase =
        std::string("rope_type '") + type + "', expected default, linear, dynamic, yarn or llama3";
    expect_unsupported(phrase, with("Llama-3.2-1B", {{"rope_scaling.rope_type", type}}));
    expect_unsupported(phrase, with("Qwen3-0.6B", {{"rope_scaling", {{"type", type}, {"factor", 2.0}}}}));
    expect_unsupported(phrase, with("transformers-qwen3", {{"rope_parameters.rope_type", type}}));
  }
  expect_unsupported("full_attention an object",
                     with("transformers-qwen3", {{"rope_parameters", {{"full_attention", Json::object()}}}}));
  expect_unsupported("partial_rotary_factor", with("Llama-3.2-1B", {{"partial_rotary_factor", 0.5}}));
  expect_unsupported("partial_rotary_factor",
                     with("transformers-llama", {{"rope_parameters.partial_rotary_factor", 0.5}}));
  expect_corrupt("rope_scaling beside rope_parameters",
                 with("transformers-llama", {{"rope_scaling", {{"rope_type", "default"}}}}));
  expect_corrupt("rope_scaling.factor 0, expected a number", with("Llama-3.2-1B", {{"rope_scaling.factor", 0}}));
  expect_corrupt("rope_scaling.factor '8'", with("Llama-3.2-1B", {{"rope_scaling.factor", "8"}}));
  expect_corrupt("high_freq_factor", with("Llama-3.2-1B", {{"rope_scaling.high_freq_factor", 1.0}}));
  expect_corrupt("has no rope_scaling.factor", with("Qwen3-0.6B", {{"rope_scaling", {{"type", "linear"}}}}));
  expect_corrupt("rope_scaling an array, expected an object", with("Qwen3-0.6B", {{"rope_scaling", {1, 2}}}));
  expect_corrupt("rope_theta -1", with("Qwen3-0.6B", {{"rope_theta", -1}}));
  expect_corrupt("has no rope_scaling.factor", with("Qwen3-0.6B", {{"rope_scaling", {{"type", "dynamic"}}}}));
  expect_unsupported("rope_type 'linear', expected default",
                     phi3({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}));
  Json json = load("Llama-3.2-1B");
  json["rope_scaling"].erase("original_max_position_embeddings");
  json.erase("max_position_embeddings");
  expect_corrupt("original_max_position_embeddings missing", json);
}

TEST(RunnerConfig, RefusesOtherModels) {
  expect_unsupported("model_type 'bert', expected t5, mt5, umt5, llama, mistral, qwen2, qwen3 or phi3",
                     {{"model_type", "bert"}});
  expect_corrupt("has no model_type, expected a string", Json::object());
  expect_corrupt("model_type 3, expected a string", {{"model_type", 3}});
  expect_unsupported("architectures 'LlamaForSequenceClassification', expected LlamaForCausalLM",
                     with("Llama-3.2-1B", {{"architectures", {"LlamaForSequenceClassification"}}}));
  expect_unsupported("architectures 'T5EncoderModel'", with("t5-small", {{"architectures", {"T5EncoderModel"}}}));
  expect_corrupt("architectures an array, expected a list of strings", with("t5-small", {{"architectures", {1}}}));
  expect_corrupt("architectures 'T5', expected a list", with("t5-small", {{"architectures", "T5"}}));
}

TEST(RunnerConfig, RefusesSettingsThatChangeTheArithmetic) {
  expect_unsupported("quantization_config set",
                     with("Qwen3-0.6B", {{"quantization_config", {{"quant_method", "awq"}}}}));
  expect_unsupported("per_layer_config set", with("Qwen3-0.6B", {{"per_layer_config", {{"0", {{"a", 1}}}}}}));
  expect_unsupported("pruned_heads set", with("t5-small", {{"pruned_heads", {{"0", {1}}}}}));
  EXPECT_NO_THROW(read(with("t5-small", {{"pruned_heads", Json::object()}, {"quantization_config", nullptr}})));
  expect_unsupported("auto_map", with("Llama-3.2-1B", {{"auto_map", {{"AutoModelForCausalLM", "x.Y"}}}}));
  EXPECT_NO_THROW(read(with("Llama-3.2-1B", {{"auto_map", {{"AutoTokenizer", "x.Y"}}}})));
  expect_unsupported("pretraining_tp", with("Llama-3.2-1B", {{"pretraining_tp", 2}}));
  expect_unsupported("hidden_act 'laplace', expected", with("Llama-3.2-1B", {{"hidden_act", "laplace"}}));
  expect_unsupported("feed_forward_proj 'gated-selu'", with("t5-small", {{"feed_forward_proj", "gated-selu"}}));
  expect_unsupported("is_encoder_decoder false", with("t5-small", {{"is_encoder_decoder", false}}));
  expect_unsupported("is_encoder_decoder true", with("Qwen3-0.6B", {{"is_encoder_decoder", true}}));
  expect_unsupported("tie_encoder_decoder true", with("t5-small", {{"tie_encoder_decoder", true}}));
  expect_unsupported("add_cross_attention true", with("Qwen3-0.6B", {{"add_cross_attention", true}}));
  expect_unsupported("use_mrope true", with("Qwen2.5-0.5B", {{"use_mrope", true}}));
  expect_unsupported("head_dim 63, expected an even one", with("Llama-3.2-1B", {{"head_dim", 63}}));
}

TEST(RunnerConfig, RefusesOtherWindows) {
  expect_unsupported("layer_types 'chunked_attention'",
                     with("transformers-qwen3", {{"layer_types", {"full_attention", "chunked_attention"}}}));
  expect_corrupt("layer_types of 1 layers", with("transformers-qwen3", {{"layer_types", {"full_attention"}}}));
  expect_unsupported("sliding_window set", with("Llama-3.2-1B", {{"sliding_window", 4096}}));
  expect_unsupported("attention_chunk_size set", with("Llama-3.2-1B", {{"attention_chunk_size", 4096}}));
}

TEST(RunnerConfig, RefusesFieldsThatContradict) {
  expect_corrupt("dense_act_fn 'silu', expected feed_forward_proj's 'gated-gelu'",
                 with("transformers-t5-v1.1", {{"dense_act_fn", "silu"}}));
  expect_corrupt("is_gated_act false", with("transformers-t5-v1.1", {{"is_gated_act", false}}));
  expect_corrupt("hidden_size 8, expected d_model", with("t5-small", {{"hidden_size", 8}}));
  expect_corrupt("num_hidden_layers 8, expected num_layers", with("t5-small", {{"num_hidden_layers", 8}}));
  expect_corrupt("num_key_value_heads 5, expected a divisor", with("Llama-3.2-1B", {{"num_key_value_heads", 5}}));
  expect_corrupt("hidden_size 2050, expected a multiple",
                 with("Llama-3.2-1B", {{"hidden_size", 2050}, {"head_dim", nullptr}}));
  expect_corrupt("relative_attention_max_distance 128, expected more than half",
                 with("t5-small", {{"relative_attention_num_buckets", 300}}));
  expect_corrupt("relative_attention_max_distance 16", with("t5-small", {{"relative_attention_max_distance", 16}}));
}

TEST(RunnerConfig, RefusesFieldsThatAreMissing) {
  for (const char* name : {"model_type", "vocab_size", "d_model", "d_kv", "d_ff", "num_heads", "num_layers"})
    expect_corrupt(std::string("has no ") + name, without("t5-small", name));
  for (const char* name :
       {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"})
    expect_corrupt(std::string("has no ") + name, without("Llama-3.2-1B", name));
  expect_corrupt("has no num_key_value_heads", without("Qwen2.5-0.5B", "num_key_value_heads"));
  expect_corrupt("has no head_dim", without("Qwen3-0.6B", "head_dim"));
}

TEST(RunnerConfig, RefusesSizesOfAnyOtherKind) {
  for (const char* name : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                           "num_key_value_heads", "head_dim"}) {
    SCOPED_TRACE(name);
    const std::string start = std::string("has ") + name + " ";
    for (const Json& value : {Json(0), Json(-1), Json(-9223372036854775807LL - 1), Json(9223372036854775807LL),
                              Json(18446744073709551615ULL), Json(1e300), Json(2.5), Json(1.0), Json("16"), Json(true),
                              Json::array(), Json::object()})
      expect_corrupt(start, with("Qwen3-0.6B", {{name, value}}));
  }
  expect_corrupt("vocab_size null, expected an integer 1..1073741824", with("Qwen3-0.6B", {{"vocab_size", nullptr}}));
  expect_corrupt("max_position_embeddings 0", with("Qwen3-0.6B", {{"max_position_embeddings", 0}}));
  expect_corrupt("rms_norm_eps -1e-06, expected a number 0..1", with("Qwen3-0.6B", {{"rms_norm_eps", -1e-6}}));
  expect_corrupt("rms_norm_eps null", with("Qwen3-0.6B", {{"rms_norm_eps", nullptr}}));
  expect_corrupt("layer_norm_epsilon '1e-6'", with("t5-small", {{"layer_norm_epsilon", "1e-6"}}));
  expect_corrupt("tie_word_embeddings 1, expected true or false", with("Qwen3-0.6B", {{"tie_word_embeddings", 1}}));
  expect_corrupt("tie_word_embeddings 'no'", with("t5-small", {{"tie_word_embeddings", "no"}}));
  expect_corrupt("attention_bias 'false'", with("Llama-3.2-1B", {{"attention_bias", "false"}}));
  expect_corrupt("hidden_act 1, expected a string", with("Llama-3.2-1B", {{"hidden_act", 1}}));
  expect_corrupt("relative_attention_num_buckets 3", with("t5-small", {{"relative_attention_num_buckets", 3}}));
}

TEST(RunnerConfig, RefusesWhatIsNoJsonObject) {
  const auto corrupt = [](const std::string& phrase, const std::string& text) {
    expect_failure(SIDBEAM_CORRUPT, phrase, [&] { read_text_as_config(text); });
  };
  corrupt("is not JSON", "");
  corrupt("is not JSON", "{\"model_type\": \"t5\"");
  corrupt("is not JSON", "{\"model_type\": NaN}");
  corrupt("is not JSON", "{\"rms_norm_eps\": 1e999}");
  corrupt("is not JSON", "{\"model_type\": \"\xff\"}");
  corrupt("is not JSON", "{} {}");
  corrupt("is not JSON: it has a NUL at byte 23", std::string(R"({"model_type": "llama"})") + '\0' + "{}");
  corrupt("is not an object", "[]");
  corrupt("is not an object", "3");
  corrupt("has the field 'vocab_size' twice", R"({"vocab_size": 1, "vocab_size": 2})");
  corrupt("has the field 'factor' twice", R"({"rope_scaling": {"factor": 1, "factor": 2}})");
  corrupt("nests its values more than 64 deep", "{\"a\":" + std::string(100000, '['));
  corrupt("expected at most 1048576", std::string((1 << 20) + 1, ' '));
  const Folder folder;
  expect_failure(SIDBEAM_IO_ERROR, "config.json': No such file", [&] { read_config(folder.path()); });
  std::filesystem::create_directory(folder.path("config.json"));
  expect_failure(SIDBEAM_IO_ERROR, "config.json': Is a directory", [&] { read_config(folder.path()); });
}

}  // namespace
}  // namespace sidbeam::runner
