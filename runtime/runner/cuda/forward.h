// Forward passes on a CUDA device: the steps of forward_interface.h on one stream, and the graphs of what its lane
// enqueues there again and again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runner/cuda/attention.h"
#include "runner/cuda/attention_plan.h"
#include "runner/cuda/device.h"
#include "runner/cuda/forward_interface.h"
#include "runner/cuda/memory.h"
#include "runner/cuda/products.h"

namespace sidbeam::runner::cuda {

// What the host says of rows, in pinned memory and on the device.
struct RowInputs {
  int32_t* tokens = nullptr;     // [rows, group]
  int32_t* positions = nullptr;  // [rows]
  int64_t* places = nullptr;     // [rows] in the shared keys and values, of nodes in the unshared ones
  int32_t* last_rows = nullptr;  // [requests, kept_rows()]; behind those of prompts the nodes
  int32_t* last_positions = nullptr;
  int64_t* lengths = nullptr;  // [requests] of the decoder's prompts
  // Of trees: lists of ancestors, [nodes, L - 1], and where among the last rows each node is, [nodes].
  int32_t *ancestors = nullptr, *order = nullptr;
};

// Attention of a pass: descriptors, how they are spread, and whether there is something to merge.
struct PassAttention {
  const SharedPart* parts = nullptr;
  int64_t count = 0;  // of parts
  StageBlocks blocks;
  bool merged = false;
};

// Rows of a pass that attend alike.
struct Section {
  int64_t first = 0, rows = 0;
  int32_t depth = 0;  // of the lists of ancestors; 0: prompts
  const int32_t* positions = nullptr;
  const int64_t* places = nullptr;
  const int32_t* ancestors = nullptr;  // [rows, depth]
  PassAttention self, cross;
};

// Rows that go through the decoder: of prompts, of beams, or of prompts and the nodes of trees behind them.
struct Pass {
  float* x = nullptr;
  Section sections[2];
  int32_t count = 0;               // of sections
  const int32_t* order = nullptr;  // which row each row of the result is; nullptr: the same

  int64_t rows() const { return sections[count - 1].first + sections[count - 1].rows; }
  void add(const Section& section) {
    sections[count++] = section;
    sections[count - 1].first = count > 1 ? sections[0].rows : 0;
  }
  const Section* begin() const { return sections; }
  const Section* end() const { return sections + count; }
};

class ForwardPass {
 public:
  explicit ForwardPass(const DeviceForwardConfig& config);
  ForwardPass(const ForwardPass&) = delete;
  ForwardPass& operator=(const ForwardPass&) = delete;
  ~ForwardPass();

  void prefill(const Prompt* prompts, int32_t count);
  void decode(const DecodeRows& beams);
  // As TreeForward's; `nodes` and `depths` are the host's.
  void run_tree(const Prompt* prompts, const DecodeRows& nodes);
  float* tree_logits(const int32_t* depths);
  void replay(const DeviceWork& work);
  float* logits(int32_t level);
  const float* states() const { return states_; }
  // Sleeps until all that is enqueued is done.
  void wait();
  cudaStream_t stream() const { return stream_; }
  int64_t memory_bytes() const { return memory_.bytes() + pinned_.bytes(); }
  const Device& device() const { return device_; }

 private:
  bool encodes() const { return c_.encoder_layers > 0; }
  // Rows of the last positions of a prompt that go through all of the last layer.
  int64_t kept_rows() const { return limits_.placeholder_count + 1; }
  int64_t element() const;
  int64_t kv_width() const { return int64_t{c_.kv_heads} * c_.head_dim; }
  int64_t qkv_width() const { return (int64_t{c_.heads} + 2 * c_.kv_heads) * c_.head_dim; }
  // An array of the model's type, moved by elements.
  void* at(void* base, int64_t elements) const { return static_cast<uint8_t*>(base) + elements * element(); }
  const void* at(const void* base, int64_t elements) const {
    return static_cast<const uint8_t*>(base) + elements * element();
  }
  // Of results of prompts, or of trees.
  int64_t last_rows() const { return limits_.requests * std::max(kept_rows(), limits_.tree_rows); }
  AttentionShape shape(int32_t depth) const;
  // Where a request's keys and values are, in the first layer: the decoder's own, and those of the encoder's output.
  SharedPart own_part(int64_t request) const;
  SharedPart cross_part(int64_t request) const;
  int64_t most_columns() const;

  void take_memory();
  void take_inputs(Arena& arena, RowInputs& inputs, int64_t rows);
  void destroy();

  // prefill.cc
  void begin_prompts(const Prompt* prompts);
  int64_t write_inputs(RowInputs& inputs, const Prompt* prompts, bool history, bool begin);
  void send_inputs(int which, int64_t rows, int64_t group, int64_t last_rows);
  void add_prompts(const Prompt* prompts, Pass& all, Pass& last);
  void encode_rows(const Section& section, int64_t group);
  void encode(const Prompt* prompts);
  void take_shared(const sidbeam_shared_kv& given, int64_t request, bool cross);

  // tree.cc
  void begin_tree(const DecodeRows& nodes);
  int64_t write_nodes(const DecodeRows& nodes, int64_t before, int64_t group);
  void send_nodes(int64_t count, int32_t depth, int64_t results);
  Section describe_nodes(const Prompt* prompts, const DecodeRows& nodes);

  // decoder
  void run_decoder(Pass pass, const Pass* last);
  void run_beams(const Pass& pass);
  void norm(const float* x, const float* gain, int64_t rows, void* out, const int32_t* from = nullptr,
            float* copy = nullptr, float scale = 1.0F);
  void norm_last(const Pass& pass);
  // Outputs [first, first + count) of the weights, in the model's type: int8 is widened for each product, which saves
  // the memory at the price of writing and reading the wider ones.
  const void* weights_of(const DeviceLinear& linear, int64_t first, int64_t count);
  // Outputs [first, first + count) of a product, to the same columns of rows of y.
  void multiply(const DeviceLinear& linear, int64_t first, int64_t count, const void* x, int64_t rows, void* y,
                int64_t y_stride);
  void add_product(const DeviceLinear& linear, const void* from, int64_t rows, float* x);
  void split_heads(const DeviceAttention& weights, int32_t first, int32_t last, const Section& section, void* keys,
                   void* values, bool turns);
  // Of a decoder's layer: of all sections, with their keys and values where they belong.
  void split_own_heads(int64_t layer, int32_t first, int32_t last, const Pass& pass);
  void attend(const PassAttention& how, int64_t layer, const Section& section, bool cross);
  void feed_forward(const DeviceLayer& layer, int64_t rows, float* x);

  const DeviceModel& model_;
  const ModelConfig& c_;
  ForwardLimits limits_;
  DeviceForwardConfig config_;
  DeviceLevel levels_[SIDBEAM_MAX_LEVELS];
  const Device& device_;
  int64_t most_rows_ = 0, decoder_positions_ = 0, beam_rows_ = 0, slots_ = 0, most_parts_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_[2] = {};  // when pinned inputs have been copied
  cudaEvent_t done_ = nullptr;
  Products products_;
  Arena memory_{Arena::Where::kDevice}, pinned_{Arena::Where::kPinned};
  std::map<int64_t, cudaGraphExec_t> graphs_;  // by key; nullptr: to be captured

  float *x_ = nullptr, *x_last_ = nullptr, *logits_ = nullptr, *states_ = nullptr;
  void *normed_ = nullptr, *qkv_ = nullptr, *attended_ = nullptr, *inner_ = nullptr, *active_ = nullptr,
       *final_ = nullptr, *widened_ = nullptr;
  void *shared_keys_ = nullptr, *shared_values_ = nullptr;      // [layers, requests, decoder_positions, kv_width]
  void *unshared_keys_ = nullptr, *unshared_values_ = nullptr;  // [layers, requests * slots, kv_width]
  void *cross_keys_ = nullptr, *cross_values_ = nullptr;  // of a T5: the encoder's own, then per layer of the decoder
  // [most_parts_ + 1]: what prompts are, of all rows, of their last, of beams; and the same of the encoder's output.
  SharedPart *prompt_parts_ = nullptr, *last_parts_ = nullptr, *beam_parts_ = nullptr;
  SharedPart *encoder_parts_ = nullptr, *cross_parts_ = nullptr, *cross_last_parts_ = nullptr,
             *cross_beam_parts_ = nullptr;
  float *statistics_ = nullptr, *sums_ = nullptr;
  int64_t unshared_partials_ = 0;
  int32_t *beam_tokens_ = nullptr, *beam_positions_ = nullptr, *beam_ancestors_ = nullptr, *beam_requests_ = nullptr;
  int64_t* beam_places_ = nullptr;
  RowInputs host_[2], there_[2];  // of the history, and of a T5's begin tokens
  std::vector<int32_t> begun_;    // requests whose prompts a pass reads, rising
  std::vector<SharedPart> described_[4];
  int32_t batch_ = 0;  // requests
  int64_t rows_ = 0;   // of the last pass
};

}  // namespace sidbeam::runner::cuda

namespace sidbeam::runner {

struct DeviceForward {
  explicit DeviceForward(const DeviceForwardConfig& config) : pass(config) {}
  cuda::ForwardPass pass;
};

}  // namespace sidbeam::runner
