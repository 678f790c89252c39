// config.json: what is read. runner_config_refusals.cc has every refusal.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "edited_config.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

using Activation = ModelConfig::Activation;

struct Sizes {
  Family family;
  int32_t layers, encoder_layers, hidden, heads, kv_heads, head_dim, ffn;
  int64_t vocabulary, max_positions;
};
void expect_sizes(const ModelConfig& config, const Sizes& sizes) {
  EXPECT_EQ(config.family, sizes.family);
  EXPECT_EQ(config.layers, sizes.layers);
  EXPECT_EQ(config.encoder_layers, sizes.encoder_layers);
  EXPECT_EQ(config.hidden, sizes.hidden);
  EXPECT_EQ(config.heads, sizes.heads);
  EXPECT_EQ(config.kv_heads, sizes.kv_heads);
  EXPECT_EQ(config.head_dim, sizes.head_dim);
  EXPECT_EQ(config.ffn, sizes.ffn);
  EXPECT_EQ(config.vocabulary, sizes.vocabulary);
  EXPECT_EQ(config.max_positions, sizes.max_positions);
}

TEST(RunnerConfig, ReadsPublishedQwen2) {
  const ModelConfig half = read("Qwen2.5-0.5B");
  expect_sizes(half, {Family::kQwen2, 24, 0, 896, 14, 2, 64, 4864, 151936, 32768});
  EXPECT_STREQ(name_of(half.family), "qwen2");
  EXPECT_TRUE(half.qkv_bias && !half.output_bias && !half.mlp_bias && !half.qk_norm && half.tied && half.gated);
  EXPECT_EQ(half.activation, Activation::kSilu);
  EXPECT_EQ(half.norm_epsilon, 1e-6F);
  EXPECT_EQ(half.rope.theta, 1e6);
  EXPECT_EQ(half.rope.scaling, Rope::Scaling::kNone);
  EXPECT_EQ(half.output_scale, 1.0F);
  expect_sizes(read("Qwen2.5-1.5B"), {Family::kQwen2, 28, 0, 1536, 12, 2, 128, 8960, 151936, 131072});
}

TEST(RunnerConfig, ReadsPublishedQwen3) {
  const ModelConfig small = read("Qwen3-0.6B");
  expect_sizes(small, {Family::kQwen3, 28, 0, 1024, 16, 8, 128, 3072, 151936, 40960});
  EXPECT_STREQ(name_of(small.family), "qwen3");
  EXPECT_TRUE(!small.qkv_bias && !small.output_bias && !small.mlp_bias && small.qk_norm && small.tied);
  EXPECT_EQ(small.rope.theta, 1e6);
  expect_sizes(read("Qwen3-1.7B"), {Family::kQwen3, 28, 0, 2048, 16, 8, 128, 6144, 151936, 40960});
}

TEST(RunnerConfig, ReadsPublishedLlama) {
  const ModelConfig config = read("Llama-3.2-1B");
  expect_sizes(config, {Family::kLlama, 16, 0, 2048, 32, 8, 64, 8192, 128256, 131072});
  EXPECT_TRUE(!config.qkv_bias && !config.output_bias && !config.mlp_bias && !config.qk_norm && config.tied);
  EXPECT_EQ(config.norm_epsilon, 1e-5F);
  EXPECT_EQ(config.rope.scaling, Rope::Scaling::kLlama3);
  EXPECT_EQ(config.rope.theta, 500000.0);
  EXPECT_EQ(config.rope.factor, 32.0);
  EXPECT_EQ(config.rope.low_freq, 1.0);
  EXPECT_EQ(config.rope.high_freq, 4.0);
  EXPECT_EQ(config.rope.original, 8192.0);
}

TEST(RunnerConfig, ReadsPublishedT5) {
  const ModelConfig config = read("t5-small");
  expect_sizes(config, {Family::kT5, 6, 6, 512, 8, 8, 64, 2048, 32128, 0});
  EXPECT_TRUE(config.tied && !config.gated && !config.qkv_bias && !config.mlp_bias);
  EXPECT_EQ(config.activation, Activation::kRelu);
  EXPECT_EQ(config.output_scale, static_cast<float>(1 / std::sqrt(512.0)));
  EXPECT_EQ(config.relative_buckets, 32);
  EXPECT_EQ(config.relative_max_distance, 128);
  EXPECT_EQ(config.decoder_start_token, 0);
}

TEST(RunnerConfig, ReadsWhatTransformersSaves) {
  const ModelConfig t5 = read("transformers-t5");
  expect_sizes(t5, {Family::kT5, 2, 2, 32, 4, 4, 8, 48, 64, 0});
  EXPECT_EQ(t5.output_scale, static_cast<float>(1 / std::sqrt(32.0)));
  EXPECT_EQ(t5.decoder_start_token, -1);
  const ModelConfig gated = read("transformers-t5-v1.1");
  expect_sizes(gated, {Family::kT5, 3, 2, 32, 4, 4, 8, 48, 64, 0});
  EXPECT_TRUE(gated.gated);
  EXPECT_EQ(gated.activation, Activation::kGeluTanh);
  EXPECT_EQ(gated.output_scale, 1.0F);
  EXPECT_EQ(gated.decoder_start_token, 0);
  const ModelConfig llama = read("transformers-llama");
  expect_sizes(llama, {Family::kLlama, 2, 0, 32, 4, 2, 8, 48, 64, 128});
  EXPECT_EQ(llama.rope.scaling, Rope::Scaling::kLlama3);
  EXPECT_EQ(llama.rope.original, 64.0);
  EXPECT_EQ(llama.rope.theta, 500000.0);
  EXPECT_FALSE(llama.tied);
  expect_sizes(read("transformers-qwen2"), {Family::kQwen2, 2, 0, 32, 4, 2, 8, 48, 64, 128});
  expect_sizes(read("transformers-qwen3"), {Family::kQwen3, 2, 0, 32, 4, 2, 16, 48, 64, 128});
}

TEST(RunnerConfig, DerivesWhatIsAbsent) {
  Json json = without("Llama-3.2-1B", "head_dim");
  for (const char* name :
       {"num_key_value_heads", "rope_theta", "rope_scaling", "rms_norm_eps", "hidden_act", "attention_bias", "mlp_bias",
        "tie_word_embeddings", "pretraining_tp", "architectures", "max_position_embeddings"})
    json.erase(name);
  const ModelConfig config = read(json);
  expect_sizes(config, {Family::kLlama, 16, 0, 2048, 32, 32, 64, 8192, 128256, 0});
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_EQ(config.norm_epsilon, 1e-6F);
  EXPECT_EQ(config.activation, Activation::kSilu);
  EXPECT_FALSE(config.tied || config.qkv_bias || config.mlp_bias);
  EXPECT_EQ(read(with("Llama-3.2-1B", {{"head_dim", nullptr}, {"num_key_value_heads", nullptr}})).kv_heads, 32);
  EXPECT_EQ(read(with("Qwen3-0.6B", {{"num_key_value_heads", nullptr}})).kv_heads, 16);
}

TEST(RunnerConfig, ReadsBiases) {
  const ModelConfig llama = read(with("Llama-3.2-1B", {{"attention_bias", true}, {"mlp_bias", true}}));
  EXPECT_TRUE(llama.qkv_bias && llama.output_bias && llama.mlp_bias);
  const ModelConfig qwen3 = read(with("Qwen3-0.6B", {{"attention_bias", true}, {"mlp_bias", true}}));
  EXPECT_TRUE(qwen3.qkv_bias && qwen3.output_bias && !qwen3.mlp_bias);
  const ModelConfig qwen2 = read(with("Qwen2.5-0.5B", {{"attention_bias", true}}));
  EXPECT_TRUE(qwen2.qkv_bias && !qwen2.output_bias);
}

TEST(RunnerConfig, ReadsActivations) {
  const auto act = [](const char* name) { return read(with("Llama-3.2-1B", {{"hidden_act", name}})).activation; };
  EXPECT_EQ(act("relu"), Activation::kRelu);
  EXPECT_EQ(act("gelu"), Activation::kGelu);
  EXPECT_EQ(act("gelu_new"), Activation::kGeluTanh);
  EXPECT_EQ(act("gelu_pytorch_tanh"), Activation::kGeluTanh);
  EXPECT_EQ(act("swish"), Activation::kSilu);
  EXPECT_EQ(act("gelu_python"), Activation::kGelu);
  EXPECT_EQ(act("quick_gelu"), Activation::kQuickGelu);
  EXPECT_EQ(act("mish"), Activation::kMish);
  EXPECT_EQ(act("tanh"), Activation::kTanh);
  const auto t5 = [](const char* name) { return read(with("t5-small", {{"feed_forward_proj", name}})); };
  EXPECT_TRUE(t5("gated-silu").gated && t5("gated-silu").activation == Activation::kSilu);
  EXPECT_TRUE(!t5("gelu").gated && t5("gelu").activation == Activation::kGelu);
  EXPECT_TRUE(t5("gated-gelu").gated && t5("gated-gelu").activation == Activation::kGeluTanh);
  EXPECT_TRUE(t5("gated-relu").gated && t5("gated-relu").activation == Activation::kRelu);
}

TEST(RunnerConfig, ScalesAT5sOutput) {
  const auto scale = [](const Json& changes) { return read(with("t5-small", changes)).output_scale; };
  const float scaled = static_cast<float>(1 / std::sqrt(512.0));
  EXPECT_EQ(scale({{"tie_word_embeddings", true}}), scaled);
  EXPECT_EQ(scale({{"tie_word_embeddings", nullptr}}), scaled);
  EXPECT_EQ(scale({{"tie_word_embeddings", false}}), 1.0F);
  EXPECT_EQ(scale({{"tie_word_embeddings", false}, {"scale_decoder_outputs", true}}), scaled);
  EXPECT_EQ(scale({{"tie_word_embeddings", true}, {"scale_decoder_outputs", false}}), 1.0F);
}

TEST(RunnerConfig, TakesTheFirstTokenFromGenerationConfig) {
  const std::string t5 = load("transformers-t5").dump();
  EXPECT_EQ(read_text_as_config(t5, R"({"decoder_start_token_id": 7})").decoder_start_token, 7);
  EXPECT_EQ(read_text_as_config(t5, R"({"eos_token_id": 1})").decoder_start_token, -1);
  const std::string named = load("transformers-t5-v1.1").dump();
  EXPECT_EQ(read_text_as_config(named, R"({"decoder_start_token_id": 7})").decoder_start_token, 7);
  EXPECT_EQ(read_text_as_config(named, R"({"decoder_start_token_id": null})").decoder_start_token, 0);
  expect_failure(SIDBEAM_CORRUPT, "decoder_start_token_id 64, expected an integer 0..63",
                 [&] { read_text_as_config(t5, R"({"decoder_start_token_id": 64})"); });
  expect_corrupt("decoder_start_token_id -1", with("t5-small", {{"decoder_start_token_id", -1}}));
}

TEST(RunnerConfig, ReadsRope) {
  const ModelConfig linear = read(with("Qwen3-0.6B", {{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}));
  EXPECT_EQ(linear.rope.scaling, Rope::Scaling::kLinear);
  EXPECT_EQ(linear.rope.factor, 2.0);
  EXPECT_EQ(linear.rope.theta, 1e6);
  // The inner theta counts first, and rope_type before type.
  const ModelConfig inner = read(
      with("Llama-3.2-1B",
           {{"rope_scaling", {{"type", "yarn"}, {"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 25.0}}}}));
  EXPECT_EQ(inner.rope.theta, 25.0);
  EXPECT_EQ(inner.rope.scaling, Rope::Scaling::kLinear);
  EXPECT_EQ(read(with("Llama-3.2-1B", {{"original_max_position_embeddings", 77}})).rope.original, 77.0);
  Json absent = load("Llama-3.2-1B");
  absent["rope_scaling"].erase("original_max_position_embeddings");
  EXPECT_EQ(read(absent).rope.original, 131072.0);
}

TEST(RunnerConfig, ReadsScaledRopes) {
  const Json yarn = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
  const Rope rope = read(with("Qwen2.5-0.5B", {{"rope_scaling", yarn}})).rope;
  EXPECT_EQ(rope.scaling, Rope::Scaling::kYarn);
  EXPECT_TRUE(rope.factor == 4.0 && rope.original == 32768.0 && rope.beta_fast == 32.0 && rope.beta_slow == 1.0);
  EXPECT_NEAR(rope.attention, 0.1 * std::log(4.0) + 1, 1e-9);
  Json more = yarn;
  more["beta_fast"] = 16, more["beta_slow"] = nullptr, more["truncate"] = false, more["factor"] = nullptr;
  more["original_max_position_embeddings"] = 4096, more["mscale"] = 0.7, more["mscale_all_dim"] = 1.3;
  const Rope other = read(with("Qwen2.5-0.5B", {{"rope_scaling", more}})).rope;
  EXPECT_TRUE(other.beta_fast == 16.0 && other.beta_slow == 1.0 && !other.truncate && other.factor == 8.0);
  EXPECT_NEAR(other.attention, (0.07 * std::log(8.0) + 1) / (0.13 * std::log(8.0) + 1), 1e-9);
  more["attention_factor"] = 1.5;
  EXPECT_EQ(read(with("Qwen2.5-0.5B", {{"rope_scaling", more}})).rope.attention, 1.5);
  // Its base changes where positions exceed those named, which a runner's do not.
  const Json dynamic = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  EXPECT_EQ(read(with("Qwen2.5-0.5B", {{"rope_scaling", dynamic}})).rope.scaling, Rope::Scaling::kNone);
  Json unnamed = with("Qwen2.5-0.5B", {{"rope_scaling", dynamic}});
  unnamed.erase("max_position_embeddings");
  expect_corrupt("max_position_embeddings missing", unnamed);
  EXPECT_EQ(read(with("Qwen2.5-0.5B", {{"rope_theta", nullptr}})).rope.theta, 10000.0);
  EXPECT_EQ(
      read(with("transformers-llama", {{"rope_parameters.rope_theta", nullptr}, {"rope_theta", 25.0}})).rope.theta,
      25.0);
}

TEST(RunnerConfig, KnowsTheFamiliesOfOthers) {
  const ModelConfig fused = read(phi3({{"attention_bias", true}}));
  EXPECT_TRUE(fused.family == Family::kPhi3 && fused.fused && !fused.qkv_bias && !fused.output_bias);
  EXPECT_EQ(fused.max_positions, 131072);
  EXPECT_EQ(read(phi3({{"sliding_window", 2047}})).max_positions, 2047);
  const auto t5 = [](const char* type, const Json& changes) {
    Json json = with("t5-small", {{"model_type", type}});
    json.erase("architectures"), json.erase("feed_forward_proj");
    for (const auto& [name, value] : changes.items()) json[name] = value;
    return read(json);
  };
  const ModelConfig mt5 = t5("mt5", {{"tie_word_embeddings", true}}),
                    umt5 = t5("umt5", {{"tie_word_embeddings", false}});
  EXPECT_TRUE(mt5.gated && mt5.activation == Activation::kGeluTanh && mt5.tied && !mt5.bias_per_layer);
  EXPECT_TRUE(umt5.gated && umt5.tied && umt5.bias_per_layer);
  EXPECT_EQ(mt5.output_scale, 1.0F);
  EXPECT_EQ(umt5.output_scale, static_cast<float>(1 / std::sqrt(512.0)));
  expect_unsupported("model_type 'qwen3_moe', expected", with("Qwen3-0.6B", {{"model_type", "qwen3_moe"}}));
}

// A window that no position can leave changes nothing.
TEST(RunnerConfig, TakesAWindowAsALimitOfPositions) {
  const auto positions = [](const char* name, const Json& changes) { return read(with(name, changes)).max_positions; };
  const Json on = {{"use_sliding_window", true}, {"sliding_window", 4096}, {"max_window_layers", 20}};
  EXPECT_EQ(positions("Qwen2.5-0.5B", on), 4096);
  EXPECT_EQ(positions("Qwen3-0.6B", on), 4096);
  EXPECT_EQ(
      positions("Qwen3-0.6B", {{"use_sliding_window", true}, {"sliding_window", 99999}, {"max_window_layers", 1}}),
      40960);
  EXPECT_EQ(positions("Qwen2.5-0.5B", {{"use_sliding_window", true}, {"max_window_layers", 24}}), 32768);
  EXPECT_EQ(positions("Qwen3-0.6B", {{"use_sliding_window", true}}), 40960);  // its window is null
  EXPECT_EQ(positions("transformers-qwen3",
                      {{"layer_types", {"full_attention", "sliding_attention"}}, {"sliding_window", 17}}),
            17);
  const Json mistral = with("Llama-3.2-1B", {{"model_type", "mistral"}, {"architectures", {"MistralForCausalLM"}}});
  EXPECT_EQ(read(mistral).max_positions, 4096);  // the family's, where none is named
  Json plain = mistral;
  plain["sliding_window"] = nullptr;
  EXPECT_EQ(read(plain).max_positions, 131072);
}

TEST(RunnerConfig, NumbersAreTheSameInEveryRoundingModeOfTheCaller) {
  const Json odd = with("Llama-3.2-1B", {{"rope_theta", 1e6 / 7}}), wrong = with("t5-small", {{"d_model", 1.0 / 3}});
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    SCOPED_TRACE(rounding);
    std::fesetround(rounding);
    double theta = 0.0;
    {
      const DefaultFloatMode mode;  // that of the ABI's edge, which leaves the x87's alone
      theta = read(odd).rope.theta;
      expect_corrupt("d_model 0.333333333, expected an integer", wrong);
    }
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(theta, 1e6 / 7);
  }
}

}  // namespace
}  // namespace sidbeam::runner
