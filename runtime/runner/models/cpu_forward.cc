// SPDX-License-Identifier: Apache-2.0
#include "runner/models/cpu_forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace sidbeam::runner {
namespace {

HeadShape head_shape(const ModelConfig& config) { return {config.heads, config.kv_heads, config.head_dim}; }

float attention_scale(const ModelConfig& config) {
  return config.encoder_layers > 0 ? 1.0F : static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
}

int64_t begin_tokens(const ModelConfig& config, const ForwardLimits& limits) {
  const bool given = limits.begin_count > 0 || config.encoder_layers == 0;
  return (given ? limits.begin_count : 1) + limits.placeholder_count;
}

// Positions of a prompt as the decoder has it.
int64_t decoder_prompt(const ModelConfig& config, const ForwardLimits& limits) {
  return begin_tokens(config, limits) + (config.encoder_layers > 0 ? 0 : limits.max_prompt);
}

// Rows of a pass that go on to its output.
int64_t beam_rows(const ForwardLimits& limits) {
  return limits.requests * std::max({int64_t{limits.beams}, limits.tree_rows, limits.placeholder_count + 1});
}

// Unshared slots of a request that its beams write.
int64_t beam_slots(const ForwardLimits& limits) {
  return limits.tree_slots > 0 ? limits.tree_slots : int64_t{limits.beams} * (limits.levels - 1);
}

// Most parts of a pass: a prompt of every request, and what a tree has of each depth.
int64_t most_parts(const ForwardLimits& limits) {
  return limits.requests * (limits.tree_rows > 0 ? int64_t{limits.levels} : 1);
}

int64_t most_rows(const ModelConfig& config, const ForwardLimits& limits) {
  const int64_t prompts = limits.prompt_rows > 0 ? limits.prompt_rows : limits.requests * limits.max_prompt;
  const int64_t roots = limits.requests * (begin_tokens(config, limits) + limits.tree_rows);
  return std::max(config.encoder_layers > 0 ? std::max(prompts, roots) : prompts + roots, beam_rows(limits));
}

// Positions that the decoder sees in all.
int64_t decoder_positions(const ModelConfig& config, const ForwardLimits& limits) {
  return decoder_prompt(config, limits) + limits.levels - 1;
}

int64_t rope_positions(const ModelConfig& config, const ForwardLimits& limits) {
  return config.encoder_layers > 0 ? 0 : decoder_positions(config, limits);
}

int64_t most_logits(const OutputColumns& columns, const ForwardLimits& limits) {
  if (limits.tree_rows > 0) return checked_bytes(beam_rows(limits), columns.most_columns());
  int64_t most = limits.requests * columns.columns(0);
  for (int32_t level = 1; level < columns.levels(); ++level)
    most = std::max(most, checked_bytes(beam_rows(limits), columns.columns(level)));
  return most;
}

}  // namespace

CpuForward::CpuForward(const Allocator& allocator, const CpuModel& model, const CpuOutput* output,
                       const ForwardLimits& limits, const Workers& workers)
    : model_(model),
      config_(model.config()),
      output_(output),
      limits_(limits),
      workers_(workers),
      begin_(allocator, begin_tokens(config_, limits)),
      layers_(allocator, config_, most_rows(config_, limits), rope_positions(config_, limits), workers),
      attention_(allocator, head_shape(config_), attention_scale(config_),
                 std::max({limits.max_prompt + begin_tokens(config_, limits), int64_t{limits.beams}, limits.tree_rows}),
                 workers),
      self_(allocator, head_shape(config_), config_.layers, limits.requests, decoder_prompt(config_, limits),
            beam_slots(limits) + (encodes() ? begin_count() : 0)),
      x_(Buffer<float>::zeroed(allocator, checked_bytes(most_rows(config_, limits), config_.hidden))),
      final_(Buffer<float>::zeroed(allocator, checked_bytes(beam_rows(limits), input_stride(config_.hidden)))),
      logits_(Buffer<float>::zeroed(allocator, output == nullptr ? 0 : most_logits(output->columns(), limits))),
      tokens_(Buffer<int32_t>::zeroed(allocator, checked_bytes(most_rows(config_, limits), limits.max_group))),
      positions_(Buffer<int32_t>::zeroed(allocator, most_rows(config_, limits))),
      parts_(allocator, most_parts(limits)),
      calls_(allocator, most_parts(limits)),
      lengths_(allocator, limits.requests),
      begun_(allocator, limits.requests) {
  if (limits.begin_count > 0) std::copy_n(limits.begin_tokens, limits.begin_count, begin_.data());
  std::copy_n(limits.placeholders, limits.placeholder_count, begin_.end() - limits.placeholder_count);
  if (!encodes()) return;
  if (limits.begin_count == 0) begin_[0] = config_.decoder_start_token;
  cross_ = KvCache(allocator, head_shape(config_), config_.layers + 1, limits.requests, limits.max_prompt, 0);
  const auto make_biases = [&](const StackWeights& stack, bool bidirectional, int64_t positions) {
    std::vector<RelativeBias> biases;
    for (const Buffer<float>& table : stack.relative_biases)
      biases.emplace_back(allocator, table.data(), config_.heads, config_.relative_buckets,
                          config_.relative_max_distance, bidirectional, positions);
    return biases;
  };
  encoder_biases_ = make_biases(model.weights().encoder, true, limits.max_prompt);
  biases_ = make_biases(model.weights().decoder, false, decoder_positions(config_, limits));
  lists_ = Buffer<int32_t>::zeroed(allocator, checked_bytes(beam_rows(limits), begin_count() + limits.levels - 1));
}

int64_t CpuForward::begin_slot() const { return beam_slots(limits_); }

void CpuForward::prefill(const Prompt* prompts, int32_t count) {
  begun_count_ = count;
  std::iota(begun_.data(), begun_.data() + count, 0);
  if (encodes()) encode(prompts);
  parts_count_ = rows_ = 0;
  for (int32_t i = 0; i < count; ++i) add_prompt(prompts[i], i);
  embed_parts(prompts, {}, !encodes(), true);
  run_decoder(nullptr);
}

const float* CpuForward::states(const Prompt* prompts, int32_t count) {
  prefill(prompts, count);
  return final_.data();
}

void CpuForward::decode(const DecodeRows& beams) {
  parts_count_ = rows_ = 0;
  for (int32_t from = 0; from < beams.rows;) from = add_beams(beams, from);
  if (encodes()) list_ancestors(beams);
  embed(workers_, model_.weights().embedding, beams.tokens, 1, x(rows_));
  run_decoder(&beams);
}

void CpuForward::run_tree(const Prompt* prompts, const DecodeRows& nodes) {
  begun_count_ = 0;  // a request that ended before its first pass has no root, and its prompt may be gone
  for (int32_t row = 0; row < nodes.rows; ++row)
    if (nodes.depths[row] == 0) begun_[begun_count_++] = nodes.requests[row];
  if (encodes() && begun_count_ > 0) encode(prompts);
  parts_count_ = rows_ = 0;
  for (int32_t from = 0; from < nodes.rows;) {
    if (nodes.depths[from] > 0) {
      from = add_beams(nodes, from);
    } else {
      add_prompt(prompts[nodes.requests[from]], nodes.requests[from]);
      ++from;
    }
  }
  if (encodes()) list_ancestors(nodes);
  embed_parts(prompts, nodes, !encodes(), true);
  run_decoder(&nodes);
}

CpuForward::Part& CpuForward::add_part(int64_t request, int64_t rows, int64_t position) {
  std::iota(positions_.data() + rows_, positions_.data() + rows_ + rows, static_cast<int32_t>(position));
  Part& part = parts_[parts_count_++];
  part = {request, rows_, rows, position};
  rows_ += rows;
  return part;
}

void CpuForward::add_prompt(const Prompt& prompt, int64_t request) {
  const bool continues = !encodes() && prompt.shared_kv != nullptr;
  if (continues) take_shared(*prompt.shared_kv, 0, request, self_);
  const int64_t before = continues ? prompt.shared_kv->length : 0;
  lengths_[request] = before + add_part(request, (encodes() ? 0 : prompt.positions) + begin_count(), before).rows;
}

// A T5's bias depends on the depth, which all rows of a part then share.
int32_t CpuForward::add_beams(const DecodeRows& beams, int32_t from) {
  const int32_t request = beams.requests[from], depth = beams.depth_of(from);
  int32_t to = from + 1;
  while (to < beams.rows && beams.requests[to] == request && (!encodes() || beams.depth_of(to) == depth)) ++to;
  Part& part = add_part(request, to - from, lengths_[request] + depth - 1);
  part.depth = depth;
  part.first_beam = from;
  int32_t* positions = positions_.data() + part.first_row;
  for (int32_t row = from; row < to; ++row)
    *positions++ = static_cast<int32_t>(lengths_[request] + beams.depth_of(row) - 1);
  return to;
}

void CpuForward::embed_parts(const Prompt* prompts, const DecodeRows& beams, bool history, bool begin) {
  int64_t group = 1;
  for (int64_t i = 0; i < parts_count_ && history; ++i)
    if (parts_[i].depth == 0) group = std::max<int64_t>(group, prompts[parts_[i].request].group);
  int32_t* out = tokens_.data();
  const auto write = [&](const int32_t* tokens, int64_t positions, int64_t given) {
    for (int64_t p = 0; p < positions; ++p, out += group) {
      std::copy_n(tokens + p * given, given, out);
      std::fill(out + given, out + group, -1);
    }
  };
  for (int64_t i = 0; i < parts_count_; ++i) {
    const Part& part = parts_[i];
    if (part.depth > 0) {
      write(beams.tokens + part.first_beam, part.rows, 1);
      continue;
    }
    const Prompt& prompt = prompts[part.request];
    if (history) write(prompt.tokens, prompt.positions, prompt.group);
    if (begin) write(begin_.data(), begin_count(), 1);
  }
  embed(workers_, model_.weights().embedding, tokens_.data(), group, x(rows_));
}

void CpuForward::encode(const Prompt* prompts) {
  parts_count_ = rows_ = 0;
  const std::span<const int32_t> begun(begun_.data(), static_cast<size_t>(begun_count_));
  for (const int32_t i : begun) add_part(i, prompts[i].shared_kv == nullptr ? prompts[i].positions : 0, 0);
  if (rows_ > 0) {
    embed_parts(prompts, {}, true, false);
    for (int32_t layer = 0; layer < config_.encoder_layers; ++layer) encode_layer(layer);
  }
  const Rows encoded = layers_.normed(x(rows_), model_.weights().encoder.norm);
  for (int32_t layer = 0; layer < config_.layers; ++layer) {
    const auto& weights = model_.weights().decoder.layers[static_cast<size_t>(layer)].cross;
    if (rows_ > 0) write_prompt(cross_, layer + 1, layers_.key_values(weights, encoded, nullptr));
  }
  for (const int32_t i : begun)
    if (prompts[i].shared_kv != nullptr) take_shared(*prompts[i].shared_kv, 1, i, cross_);
}

void CpuForward::encode_layer(int32_t number) {
  const LayerWeights& layer = model_.weights().encoder.layers[static_cast<size_t>(number)];
  const RelativeBias& bias = bias_of(encoder_biases_, number);
  const Rows hidden = x(rows_), normed = layers_.normed(hidden, layer.self.norm);
  write_prompt(cross_, 0, layers_.key_values(layer.self, normed, nullptr));
  begin_calls(layers_.queries(layer.self, normed, nullptr));
  for (int64_t i = 0; i < parts_count_; ++i) {
    calls_[i].shared = &cross_.shared(0, parts_[i].request);
    calls_[i].relative_bias = bias.at_zero();
    calls_[i].relative_bias_stride = bias.stride();
  }
  attention_.run(calls());
  layers_.add_attention(layer.self, hidden);
  layers_.add_feed_forward(layer.feed_forward, hidden);
}

void CpuForward::take_shared(const sidbeam_shared_kv& given, int64_t first_layer, int64_t request, KvCache& kv) {
  for (int32_t layer = 0; layer < config_.layers; ++layer) {
    const KvRows rows{given.keys[layer], given.values[layer], layers_.key_width(), given.dtype};
    write_rows(kv.shared(first_layer + layer, request), workers_.target, 0, given.length, rows);
  }
}

// To the positions of each prompt.
void CpuForward::write_prompt(KvCache& kv, int64_t layer, ConstRows key_values) {
  for (int64_t i = 0; i < parts_count_; ++i) {
    const Part& part = parts_[i];
    const float* keys = key_values[part.first_row];
    const KvRows rows{keys, keys + layers_.key_width(), key_values.stride, SIDBEAM_DTYPE_F32};
    if (part.depth == 0 && part.rows > 0)
      write_rows(kv.shared(layer, part.request), workers_.target, part.position, part.rows, rows);
  }
}

void CpuForward::write_slot(int64_t layer, int64_t request, int64_t slot, const float* key_values) {
  const Rows slots = self_.unshared(layer, request);
  std::copy_n(key_values, slots.columns, slots[slot]);
}

void CpuForward::write_begins(int64_t layer, ConstRows key_values) {
  for (int64_t i = 0; i < parts_count_; ++i)
    for (int64_t row = 0; row < parts_[i].rows && parts_[i].depth == 0; ++row)
      write_slot(layer, parts_[i].request, begin_slot() + row, key_values[parts_[i].first_row + row]);
}

// To the slot of each beam.
void CpuForward::write_beams(int64_t layer, ConstRows key_values, const DecodeRows& beams) {
  for (int64_t i = 0; i < parts_count_; ++i) {
    const Part& part = parts_[i];
    for (int64_t row = 0; row < part.rows && part.depth > 0; ++row)
      write_slot(layer, part.request, beams.slots[part.first_beam + row], key_values[part.first_row + row]);
  }
}

// Whether the pass is one request's beams, whose slots follow each other.
bool CpuForward::fills_slots_in_order(const DecodeRows& beams) const {
  if (parts_count_ > 1 || has_prompts()) return false;
  for (int32_t row = 1; row < beams.rows; ++row)
    if (beams.slots[row] != beams.slots[0] + row) return false;
  return true;
}

// To where the pass's rows, and later ones, read them.
void CpuForward::write_key_values(int64_t layer, ConstRows normed, const DecodeRows* beams) {
  const AttentionWeights& weights = model_.weights().decoder.layers[static_cast<size_t>(layer)].self;
  if (beams != nullptr && fills_slots_in_order(*beams)) {
    const int64_t first = beams->slots[0];
    const Rows slots = self_.unshared(layer, parts_[0].request).rows(first, first + rows_);
    return layers_.write_key_values(weights, normed, positions_.data(), slots);
  }
  const Rows key_values = layers_.key_values(weights, normed, positions_.data());
  if (beams != nullptr) write_beams(layer, key_values, *beams);
  if (!has_prompts()) return;
  write_prompt(self_, layer, key_values);
  if (encodes()) write_begins(layer, key_values);
}

// A T5's begin tokens become the first ancestors of every row: so few keys would cost more as a shared stage.
void CpuForward::list_ancestors(const DecodeRows& beams) {
  int32_t* out = lists_.data();
  for (int32_t row = 0; row < beams.rows; ++row) {
    std::iota(out, out + begin_count(), static_cast<int32_t>(begin_slot()));
    out = std::copy_n(beams.ancestors + int64_t{row} * beams.depth, beams.depth, out + begin_count());
  }
}

// `beams`: nullptr for prompts alone.
void CpuForward::run_decoder(const DecodeRows* beams) {
  for (int32_t i = 0; i < config_.layers; ++i) {
    const LayerWeights& layer = model_.weights().decoder.layers[static_cast<size_t>(i)];
    Rows normed = layers_.normed(x(rows_), layer.self.norm);
    write_key_values(i, normed, beams);
    // Nothing else of the last layer is needed of the positions before the last ones.
    if (has_prompts() && i + 1 == config_.layers) normed = keep_last_rows(normed);
    attend_self(i, layers_.queries(layer.self, normed, positions_.data()), beams);
    layers_.add_attention(layer.self, x(rows_));
    if (encodes()) attend_cross(i, layer.cross);
    layers_.add_feed_forward(layer.feed_forward, x(rows_));
  }
  const Rows final = final_states();
  rms_norm(workers_, x(rows_), model_.weights().decoder.norm.data(), config_.norm_epsilon, final);
  // The scale belongs to the output layer.
  if (config_.output_scale != 1.0F && output_ != nullptr) scale(workers_, config_.output_scale, final);
}

// Prompts become their last rows; the place of a row is never before those of earlier parts.
Rows CpuForward::keep_last_rows(Rows normed) {
  const auto bytes = static_cast<size_t>(config_.hidden) * sizeof(float);
  int64_t kept = 0;
  for (int64_t i = 0; i < parts_count_; ++i) {
    Part& part = parts_[i];
    const int64_t first = kept, skipped = part.depth == 0 ? part.rows - kept_rows() : 0;
    for (int64_t row = part.first_row + skipped; row < part.first_row + part.rows; ++row, ++kept) {
      std::memmove(x(rows_)[kept], x(rows_)[row], bytes);
      std::memmove(normed[kept], normed[row], bytes);
      positions_[kept] = positions_[row];
    }
    part.first_row = first, part.rows -= skipped, part.position += skipped;
  }
  rows_ = kept;
  return {normed.data, rows_, normed.columns, normed.stride};
}

// A call per part, without keys; its output replaces the queries.
void CpuForward::begin_calls(Rows queries) {
  for (int64_t i = 0; i < parts_count_; ++i) {
    AttentionCall call;
    call.rows = parts_[i].rows;
    call.queries = call.output = queries[parts_[i].first_row];
    call.query_stride = call.output_stride = queries.stride;
    calls_[i] = call;
  }
}

void CpuForward::attend_self(int64_t layer, Rows queries, const DecodeRows* beams) {
  begin_calls(queries);
  const RelativeBias* const bias = encodes() ? &bias_of(biases_, layer) : nullptr;
  for (int64_t i = 0; i < parts_count_; ++i) {
    const Part& part = parts_[i];
    AttentionCall& call = calls_[i];
    call.shared = &self_.shared(layer, part.request);
    call.first_position = part.position;
    if (part.depth == 0) {
      call.causal = true;
      if (bias != nullptr) call.relative_bias = bias->at_zero(), call.relative_bias_stride = bias->stride();
      continue;
    }
    call.depth = beams->depth;
    call.ancestors = beams->ancestors + int64_t{part.first_beam} * call.depth;
    const Rows slots = self_.unshared(layer, part.request);
    call.unshared = {slots.data, slots.data + layers_.key_width(), slots.stride, SIDBEAM_DTYPE_F32};
    if (bias == nullptr) continue;
    call.shared = nullptr;
    call.depth += static_cast<int32_t>(begin_count());
    call.ancestors = lists_.data() + int64_t{part.first_beam} * call.depth;
    call.ancestor_bias = bias->at_zero() + 1 - begin_count() - part.depth;  // the last ancestor is at distance 0
    call.ancestor_bias_stride = bias->stride();
  }
  attention_.run(calls());
}

void CpuForward::attend_cross(int64_t layer, const AttentionWeights& weights) {
  const Rows hidden = x(rows_);
  begin_calls(layers_.queries(weights, layers_.normed(hidden, weights.norm), nullptr));
  for (int64_t i = 0; i < parts_count_; ++i) calls_[i].shared = &cross_.shared(layer + 1, parts_[i].request);
  attention_.run(calls());
  layers_.add_attention(weights, hidden);
}

int64_t CpuForward::memory_bytes() const {
  int64_t bias_bytes = 0;
  for (const auto* biases : {&encoder_biases_, &biases_})
    for (const RelativeBias& bias : *biases) bias_bytes += bias.memory_bytes();
  return begin_.bytes() + layers_.memory_bytes() + attention_.memory_bytes() + self_.memory_bytes() +
         cross_.memory_bytes() + bias_bytes + lists_.bytes() + x_.bytes() + final_.bytes() + logits_.bytes() +
         tokens_.bytes() + positions_.bytes() + parts_.bytes() + calls_.bytes() + lengths_.bytes() + begun_.bytes();
}

}  // namespace sidbeam::runner
