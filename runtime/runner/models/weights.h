// A model's weights on the CPU, packed for its products.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runner/formats/config.h"
#include "runner/math/product.h"
#include "runner/models/tensors.h"
#include "sidbeam/runner.h"
#include "support/memory.h"

namespace sidbeam::runner {

struct Linear {
  Matrix matrix;
  Buffer<float> bias;  // empty: none

  const float* bias_data() const { return bias.size() == 0 ? nullptr : bias.data(); }
  Start start() const { return bias.size() == 0 ? Start::kZero : Start::kBias; }
};

// Keys and values are a product of their own: those of the last layer are needed of all positions of a prompt, queries
// only of its last one.
struct AttentionWeights {
  Buffer<float> norm;
  Linear query;
  Linear key_value;              // keys of all heads, then values
  Buffer<float> q_norm, k_norm;  // per head; empty: none
  Linear output;
};

struct FeedForwardWeights {
  Buffer<float> norm;
  Linear in;  // gated: the part that goes through the activation, then the other
  Linear out;
};

struct LayerWeights {
  AttentionWeights self;
  AttentionWeights cross;  // of a T5's decoder
  FeedForwardWeights feed_forward;
};

struct StackWeights {
  std::vector<LayerWeights> layers;
  Buffer<float> norm;
  std::vector<Buffer<float>> relative_biases;  // [buckets, heads] of a T5: one for all layers, or of each
};

struct ModelWeights {
  Table embedding;
  Table head;  // the output layer as stored; without rows where it is the embedding
  StackWeights encoder, decoder;
  int64_t parameters = 0;
  int64_t memory_bytes = 0;

  const Table& output_table() const { return head.rows > 0 ? head : embedding; }
};

// What a matrix whose elements are `stored` is held as; SIDBEAM_WEIGHTS_*.
Dtype held_dtype(int32_t weights, Dtype stored);
Tensor view_of(const Table& table);

// Throws CORRUPT where a tensor is missing, of another shape than the config says or not finite.
ModelWeights load_weights(const Allocator& allocator, ModelTensors& tensors, const ModelConfig& config,
                          int32_t weights);

}  // namespace sidbeam::runner
