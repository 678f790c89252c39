// Forward passes on the CPU, of every family: a stack of decoder layers that attend to the prompt's KV and to their
// ancestors', and for a T5 an encoder, whose output the decoder attends to besides. A T5's decoder has the begin tokens
// as its prompt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runner/attention/attention.h"
#include "runner/models/cpu_model.h"
#include "runner/models/kv_cache.h"
#include "runner/models/layers.h"
#include "runner/models/relative_bias.h"

namespace sidbeam::runner {

class CpuForward final : public Forward, public TreeForward, public StatesForward {
 public:
  // `output`: nullptr for states alone.
  CpuForward(const Allocator& allocator, const CpuModel& model, const CpuOutput* output, const ForwardLimits& limits,
             const Workers& workers);
  void prefill(const Prompt* prompts, int32_t count) override;
  void decode(const DecodeRows& beams) override;
  float* logits(int32_t level) override;
  float* some_logits(int32_t level, const LogitElements& elements) override;
  bool has_elements() const override;
  int32_t element_cost() const override;
  void run_tree(const Prompt* prompts, const DecodeRows& nodes) override;
  float* tree_logits(const int32_t* depths) override;
  const float* states(const Prompt* prompts, int32_t count) override;
  int64_t columns(int32_t level) const override { return output_->columns().columns(level); }
  int64_t memory_bytes() const override;

 private:
  // One request's rows of the pass: consecutive rows of the stack.
  struct Part {
    int64_t request = 0, first_row = 0, rows = 0;
    int64_t position = 0;    // of the first row
    int32_t depth = 0;       // codes of its first row; 0: a prompt
    int32_t first_beam = 0;  // of DecodeRows, unless a prompt
  };

  bool encodes() const { return config_.encoder_layers > 0; }
  int64_t begin_count() const { return begin_.size(); }
  // Rows of the last positions of a prompt that are rows of the pass.
  int64_t kept_rows() const { return limits_.placeholder_count + 1; }
  // A T5's begin tokens are in slots, too, behind those of the beams.
  int64_t begin_slot() const;
  Rows x(int64_t rows) { return {x_.data(), rows, config_.hidden}; }
  // After the last norm: dense where they are the pass's result, else spaced for the output layer.
  Rows final_states() {
    return {final_.data(), rows_, config_.hidden,
            output_ == nullptr ? int64_t{config_.hidden} : input_stride(config_.hidden)};
  }
  std::span<AttentionCall> calls() { return {calls_.data(), static_cast<size_t>(parts_count_)}; }

  Part& add_part(int64_t request, int64_t rows, int64_t position);
  void add_prompt(const Prompt& prompt, int64_t request);
  // A part; returns the beam behind it.
  int32_t add_beams(const DecodeRows& beams, int32_t from);
  // The parts' rows: of prompts the tokens, the begin tokens, or both.
  void embed_parts(const Prompt* prompts, const DecodeRows& beams, bool history, bool begin);
  // Of the requests that begin.
  void encode(const Prompt* prompts);
  void encode_layer(int32_t number);
  // Of one layer: its own, or the one of all.
  static const RelativeBias& bias_of(const std::vector<RelativeBias>& biases, int64_t layer) {
    return biases[biases.size() == 1 ? 0 : static_cast<size_t>(layer)];
  }
  void run_decoder(const DecodeRows* beams);
  void take_shared(const sidbeam_shared_kv& given, int64_t first_layer, int64_t request, KvCache& kv);
  void write_prompt(KvCache& kv, int64_t layer, ConstRows key_values);
  void write_slot(int64_t layer, int64_t request, int64_t slot, const float* key_values);
  void write_begins(int64_t layer, ConstRows key_values);
  void write_beams(int64_t layer, ConstRows key_values, const DecodeRows& beams);
  void write_key_values(int64_t layer, ConstRows normed, const DecodeRows* beams);
  bool fills_slots_in_order(const DecodeRows& beams) const;
  void list_ancestors(const DecodeRows& beams);
  bool has_prompts() const { return parts_[0].depth == 0; }
  Rows keep_last_rows(Rows normed);
  void begin_calls(Rows queries);
  void attend_self(int64_t layer, Rows queries, const DecodeRows* beams);
  void attend_cross(int64_t layer, const AttentionWeights& weights);
  void write_logits(int32_t level, int64_t first_row, Rows out);
  void write_holes(int32_t level, Rows out);

  const CpuModel& model_;
  const ModelConfig& config_;
  const CpuOutput* output_;
  ForwardLimits limits_;
  Workers workers_;
  Buffer<int32_t> begin_;
  Layers layers_;
  Attention attention_;
  KvCache self_;
  KvCache cross_;                                      // of a T5: one "layer" for the encoder's own, then the decoder's
  std::vector<RelativeBias> encoder_biases_, biases_;  // of a T5: of all layers, or one of each
  Buffer<float> x_, final_, logits_;
  Buffer<int32_t> tokens_, positions_;
  Buffer<int32_t> lists_;  // of a T5: [rows, begin_count + depth] slots of the begin tokens and ancestors
  Buffer<Part> parts_;
  Buffer<AttentionCall> calls_;
  Buffer<int64_t> lengths_;  // [requests] positions of the decoder's prompt
  Buffer<int32_t> begun_;    // [requests] whose prompts a pass reads, rising
  int32_t begun_count_ = 0;
  int64_t parts_count_ = 0, rows_ = 0;  // of the pass
};

}  // namespace sidbeam::runner
