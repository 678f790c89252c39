// SPDX-License-Identifier: Apache-2.0
#include "runner/models/layers.h"

#include <algorithm>

#include "runner/models/rope.h"

namespace sidbeam::runner {
namespace {

// Rows of a feed-forward at a time: what is between its two products stays in the cache, and a long prompt does not
// size it. Weights that the second-level cache does not hold are read again for all of them, so that more rows are
// better then (a model 1024 wide is 5 % slower with 84).
int64_t inner_rows(const ModelConfig& config) {
  constexpr int64_t kCachedWeights = 1 << 20;
  return int64_t{config.hidden} * config.ffn * (config.gated ? 3 : 2) <= kCachedWeights ? 84 : 256;
}

Activation activation_of(ModelConfig::Activation activation) {
  switch (activation) {
    case ModelConfig::Activation::kRelu:
      return Activation::kRelu;
    case ModelConfig::Activation::kGelu:
      return Activation::kGelu;
    case ModelConfig::Activation::kGeluTanh:
      return Activation::kGeluTanh;
    case ModelConfig::Activation::kQuickGelu:
      return Activation::kQuickGelu;
    case ModelConfig::Activation::kMish:
      return Activation::kMish;
    case ModelConfig::Activation::kTanh:
      return Activation::kTanh;
    case ModelConfig::Activation::kSilu:
      break;
  }
  return Activation::kSilu;
}

}  // namespace

Layers::Layers(const Allocator& allocator, const ModelConfig& config, int64_t rows, int64_t rope_positions,
               const Workers& workers)
    : config_(config),
      workers_(workers),
      activation_(activation_of(config.activation)),
      query_width_(int64_t{config.heads} * config.head_dim),
      key_width_(int64_t{config.kv_heads} * config.head_dim),
      inner_width_(int64_t{config.ffn} * (config.gated ? 2 : 1)),
      normed_(Buffer<float>::zeroed(allocator, checked_bytes(rows, input_stride(config.hidden)))),
      queries_(Buffer<float>::zeroed(allocator, checked_bytes(rows, input_stride(query_width_)))),
      key_values_(Buffer<float>::zeroed(allocator, checked_bytes(rows, 2 * key_width_))),
      inner_rows_(std::min(rows, inner_rows(config))),
      inner_(Buffer<float>::zeroed(allocator, checked_bytes(inner_rows_, input_stride(inner_width_)))) {
  if (rope_positions > 0) rope_ = make_model_rope(allocator, config, rope_positions);
}

Rows Layers::normed(ConstRows x, const Buffer<float>& norm) {
  const Rows out(normed_.data(), x.count, x.columns, input_stride(x.columns));
  rms_norm(workers_, x, norm.data(), config_.norm_epsilon, out);
  return out;
}

// Per head: its norm, if there is one, and RoPE.
void Layers::turn(const Buffer<float>& norm, const int32_t* positions, Rows heads) {
  if (norm.size() > 0)
    rms_norm(workers_, heads, norm.data(), config_.norm_epsilon, heads, heads.columns / config_.head_dim);
  if (positions != nullptr && has_rope()) rotate(workers_, rope_, positions, heads);
}

Rows Layers::queries(const AttentionWeights& weights, ConstRows normed, const int32_t* positions) {
  const Rows out = query_rows(normed.count);
  multiply(workers_, normed, weights.query.matrix, out, weights.query.start(), weights.query.bias_data());
  turn(weights.q_norm, positions, out);
  return out;
}

Rows Layers::key_values(const AttentionWeights& weights, ConstRows normed, const int32_t* positions) {
  const Rows out(key_values_.data(), normed.count, 2 * key_width_);
  write_key_values(weights, normed, positions, out);
  return out;
}

void Layers::write_key_values(const AttentionWeights& weights, ConstRows normed, const int32_t* positions, Rows out) {
  multiply(workers_, normed, weights.key_value.matrix, out, weights.key_value.start(), weights.key_value.bias_data());
  turn(weights.k_norm, positions, out.slice(0, key_width_));
}

void Layers::add_product(ConstRows from, const Linear& linear, Rows x) {
  if (linear.bias_data() == nullptr) {
    multiply(workers_, from, linear.matrix, x, Start::kY);
    return;
  }
  const Rows product(normed_.data(), x.count, x.columns);
  multiply(workers_, from, linear.matrix, product, Start::kBias, linear.bias_data());
  add(workers_, product, x);
}

void Layers::add_attention(const AttentionWeights& weights, Rows x) {
  add_product(query_rows(x.count), weights.output, x);
}

void Layers::add_feed_forward(const FeedForwardWeights& weights, Rows x) {
  const int64_t parts = (x.count + inner_rows_ - 1) / inner_rows_;
  for (int64_t i = 0; i < parts; ++i) {
    const Rows part = x.rows(x.count * i / parts, x.count * (i + 1) / parts);
    const Rows inner(inner_.data(), part.count, inner_width_, input_stride(inner_width_));
    multiply(workers_, normed(part, weights.norm), weights.in.matrix, inner, weights.in.start(),
             weights.in.bias_data());
    const Rows active = inner.slice(0, config_.ffn);
    if (config_.gated) {
      activate_gated(workers_, activation_, inner, active);
    } else {
      activate(workers_, activation_, active);
    }
    add_product(active, weights.out, part);
  }
}

int64_t Layers::memory_bytes() const {
  return rope_.memory_bytes() + normed_.bytes() + queries_.bytes() + key_values_.bytes() + inner_.bytes();
}

}  // namespace sidbeam::runner
