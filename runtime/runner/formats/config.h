// config.json of a checkpoint: every field that changes the arithmetic, read or refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam::runner {

inline constexpr int64_t kMostTokens = int64_t{1} << 30;  // of a vocabulary: ids fit an int32

// Positions by rotation. Pair i of a head's halves turns by position * f(i), f(i) = theta^(-2i / head_dim), which the
// scaling changes: kLinear divides it by `factor`; kLlama3 does so where the wave 2 pi / f is longer than
// original / low_freq, leaves it where it is shorter than original / high_freq, and interpolates between; kYarn leaves
// the pairs that turn more than beta_fast times within `original` positions, divides those that turn less than
// beta_slow times, and goes from one to the other by the pair's number between, which `truncate` rounds outwards.
// Cosines and sines are times `attention`. (Dynamic scaling begins beyond the positions that a runner has.)
struct Rope {
  enum class Scaling : uint8_t { kNone, kLinear, kLlama3, kYarn };
  Scaling scaling = Scaling::kNone;
  double theta = 10000.0;
  double factor = 1.0, low_freq = 1.0, high_freq = 4.0, original = 0.0;
  double beta_fast = 32.0, beta_slow = 1.0, attention = 1.0;
  bool truncate = true;
};

struct ModelConfig {
  enum class Family : uint8_t { kT5, kLlama, kQwen2, kQwen3, kMistral, kPhi3, kMt5, kUmt5 };
  // kGelu is exact (erf), kGeluTanh the approximation by tanh, kQuickGelu that by x / (1 + exp(-1.702 x)).
  enum class Activation : uint8_t { kRelu, kGelu, kGeluTanh, kSilu, kQuickGelu, kMish, kTanh };

  Family family = Family::kLlama;
  Activation activation = Activation::kSilu;
  bool gated = true;  // act(gate x) * (up x), else act(up x)
  // Of the q, k, v projections; of the attention's output; of the feed-forward.
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false;  // q and k are normalised per head, before RoPE
  bool fused = false;    // q, k, v are one tensor, and gate and up are
  // The output layer may be the embedding: if the checkpoint has lm_head.weight that counts, as in transformers 5.
  bool tied = false;
  int32_t layers = 0;          // of the decoder
  int32_t encoder_layers = 0;  // 0: a decoder alone
  int32_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0;
  int64_t vocabulary = 0;
  // Positions whose keys every later one of them sees: those named, or the attention's window if that is less; 0: no
  // limit is named.
  int64_t max_positions = 0;
  float norm_epsilon = 0.0f;
  float output_scale = 1.0f;  // of the last hidden state, before the output layer

  Rope rope;  // not of a T5

  // Of a T5. The buckets are those of a decoder's attention; an encoder uses half of them for each direction.
  int32_t relative_buckets = 0, relative_max_distance = 0;
  bool bias_per_layer = false;       // each layer has a bias of its own, else the first one's is that of all
  int32_t decoder_start_token = -1;  // -1: neither config.json nor generation_config.json names one
};

// As model_type: "t5"
const char* name_of(ModelConfig::Family family);

// Reads folder/config.json. A mixture of experts is another family: rows would have to be grouped by expert between
// the products. Throws Failure: IO_ERROR (no such file), CORRUPT (not JSON, a field that is missing, of
// another type or out of range), UNSUPPORTED (another family, a setting that is not implemented).
ModelConfig read_config(const char* folder);

}  // namespace sidbeam::runner
