// The sublayers that every family's layers are made of, over one scratch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/product.h"
#include "runner/math/rows.h"
#include "runner/models/weights.h"

namespace sidbeam::runner {

// Scratch of up to `rows` rows. What the functions return is valid until the same one is called again.
class Layers {
 public:
  Layers(const Allocator& allocator, const ModelConfig& config, int64_t rows, int64_t rope_positions,
         const Workers& workers);

  Rows normed(ConstRows x, const Buffer<float>& norm);
  // positions: of each row; nullptr: no RoPE. Attention writes its output over them.
  Rows queries(const AttentionWeights& weights, ConstRows normed, const int32_t* positions);
  // Keys of all heads, then values.
  Rows key_values(const AttentionWeights& weights, ConstRows normed, const int32_t* positions);
  // The same, written to the caller's rows.
  void write_key_values(const AttentionWeights& weights, ConstRows normed, const int32_t* positions, Rows out);
  // x += what attention wrote over the queries
  void add_attention(const AttentionWeights& weights, Rows x);
  // x += feed forward of x
  void add_feed_forward(const FeedForwardWeights& weights, Rows x);

  bool has_rope() const { return rope_.positions > 0; }
  int64_t key_width() const { return key_width_; }
  int64_t memory_bytes() const;

 private:
  Rows query_rows(int64_t rows) { return {queries_.data(), rows, query_width_, input_stride(query_width_)}; }
  void turn(const Buffer<float>& norm, const int32_t* positions, Rows heads);
  void add_product(ConstRows from, const Linear& linear, Rows x);

  const ModelConfig& config_;
  Workers workers_;
  Activation activation_;
  int64_t query_width_, key_width_, inner_width_;
  RopeTable rope_;
  Buffer<float> normed_, queries_, key_values_;
  int64_t inner_rows_;
  Buffer<float> inner_;  // between the products of a feed-forward, for inner_rows_ at a time
};

}  // namespace sidbeam::runner
