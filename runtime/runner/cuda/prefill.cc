// Prompts: a T5's encoder, what the decoder reads first, and a lane's memory. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "runner/cuda/forward.h"
#include "runner/cuda/parts.h"
#include "runner/cuda/rows.h"
#include "sidbeam/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;

int64_t most_prompt_rows(const ForwardLimits& limits) {
  return limits.prompt_rows > 0 ? limits.prompt_rows : limits.requests * limits.max_prompt;
}

// Of the largest matrix that is int8.
int64_t widest_elements(const DeviceModel& model) {
  int64_t most = 0;
  for (const DeviceStack* stack : {&model.encoder, &model.decoder})
    for (int32_t i = 0; i < stack->count; ++i) {
      const DeviceLayer& layer = stack->layers[i];
      for (const DeviceLinear* linear :
           {&layer.self.qkv, &layer.self.output, &layer.cross.qkv, &layer.cross.output, &layer.in, &layer.out})
        if (linear->scales != nullptr) most = std::max(most, linear->outputs * linear->inputs);
    }
  return most;
}

}  // namespace

ForwardPass::ForwardPass(const DeviceForwardConfig& config)
    : model_(*config.model),
      c_(config.model->config),
      limits_(config.limits),
      config_(config),
      device_(device_of(config.model->device_id)) {
  if (config.levels != nullptr) std::copy_n(config.levels, limits_.levels, levels_);
  beam_rows_ = limits_.requests * std::max(int64_t{limits_.beams}, limits_.tree_rows);
  slots_ = limits_.tree_slots > 0 ? limits_.tree_slots : int64_t{limits_.beams} * std::max(1, limits_.levels - 1);
  // A T5's bias of begin tokens is another at every depth of a tree.
  most_parts_ = int64_t{limits_.requests} * (encodes() && limits_.tree_rows > 0 ? limits_.levels : 1);
  begun_.reserve(static_cast<size_t>(limits_.requests));
  for (std::vector<SharedPart>& parts : described_) parts.reserve(static_cast<size_t>(most_parts_ + 1));
  decoder_positions_ = limits_.begin_count + (encodes() ? 0 : limits_.max_prompt);
  const int64_t begins = limits_.requests * (limits_.begin_count + limits_.tree_rows),
                prompts = most_prompt_rows(limits_);
  most_rows_ = std::max(encodes() ? std::max(prompts, begins) : prompts + begins, beam_rows_);
  const Current current(device_);
  try {
    stream_ = static_cast<cudaStream_t>(config.stream);
    if (stream_ == nullptr) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
    for (cudaEvent_t& event : sent_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
    check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming | cudaEventBlockingSync), "make an event");
    take_memory();
    memory_.allocate();
    pinned_.allocate();
    take_memory();
  } catch (...) {
    destroy();
    throw;
  }
}

ForwardPass::~ForwardPass() {
  const Current current(device_);
  destroy();
}

void ForwardPass::destroy() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  for (const auto& [key, graph] : graphs_)
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  for (const cudaEvent_t event : sent_)
    if (event != nullptr) cudaEventDestroy(event);
  if (done_ != nullptr) cudaEventDestroy(done_);
  if (stream_ != nullptr && config_.stream == nullptr) cudaStreamDestroy(stream_);
}

void ForwardPass::take_inputs(Arena& arena, RowInputs& inputs, int64_t rows) {
  inputs.tokens = arena.take<int32_t>(rows * limits_.max_group);
  inputs.positions = arena.take<int32_t>(rows);
  inputs.places = arena.take<int64_t>(rows);
  inputs.last_rows = arena.take<int32_t>(last_rows());
  inputs.last_positions = arena.take<int32_t>(last_rows());
  inputs.lengths = arena.take<int64_t>(limits_.requests);
  inputs.ancestors = arena.take<int32_t>(limits_.requests * limits_.tree_rows * limits_.levels);
  inputs.order = arena.take<int32_t>(limits_.requests * limits_.tree_rows);
}

// Called to count, and again to place.
void ForwardPass::take_memory() {
  const auto elements = [&](int64_t rows, int64_t width) {
    int64_t count = 0;
    if (__builtin_mul_overflow(rows, width, &count))
      fail(SIDBEAM_OUT_OF_MEMORY, "out of device memory: a size overflows");
    return memory_.take_bytes(count, element());
  };
  const int64_t requests = limits_.requests, results = std::max(last_rows(), beam_rows_);
  for (RowInputs& inputs : there_) take_inputs(memory_, inputs, most_rows_);
  for (RowInputs& inputs : host_) take_inputs(pinned_, inputs, most_rows_);
  x_ = memory_.take<float>(most_rows_ * c_.hidden);
  x_last_ = memory_.take<float>(last_rows() * c_.hidden);
  normed_ = elements(most_rows_, c_.hidden);
  qkv_ = elements(most_rows_, qkv_width());
  attended_ = elements(most_rows_, int64_t{c_.heads} * c_.head_dim);
  inner_ = elements(most_rows_, int64_t{c_.ffn} * (c_.gated ? 2 : 1));
  active_ = elements(most_rows_, c_.ffn);
  if (limits_.placeholder_count > 0) {
    states_ = memory_.take<float>(last_rows() * c_.hidden);
  } else {
    final_ = elements(results, c_.hidden);
  }
  widened_ = elements(widest_elements(model_), 1);
  int64_t logits = requests * levels_[0].columns;
  for (int32_t level = 1; level < limits_.levels; ++level)
    logits = std::max(logits, beam_rows_ * levels_[level].columns);
  if (limits_.tree_rows > 0) logits = beam_rows_ * most_columns();
  logits_ = memory_.take<float>(logits);
  for (void** array : {&shared_keys_, &shared_values_})
    *array = elements(c_.layers * requests * decoder_positions_, kv_width());
  for (void** array : {&unshared_keys_, &unshared_values_})
    *array = elements(c_.layers * requests * slots_, kv_width());
  for (void** array : {&cross_keys_, &cross_values_})
    *array = elements(encodes() ? (c_.layers + 1) * requests * limits_.max_prompt : 0, kv_width());
  for (SharedPart** parts : {&prompt_parts_, &last_parts_, &beam_parts_, &encoder_parts_, &cross_parts_,
                             &cross_last_parts_, &cross_beam_parts_})
    *parts = memory_.take<SharedPart>(most_parts_ + 1);
  unshared_partials_ = most_items(shape(1), most_parts_, results) * attention_tile_rows(model_.dtype);
  const int64_t partials = unshared_partials_ + beam_rows_ * c_.heads;
  statistics_ = memory_.take<float>(partials * kStatistics);
  sums_ = memory_.take<float>(partials * c_.head_dim);
  beam_tokens_ = memory_.take<int32_t>(beam_rows_);
  beam_positions_ = memory_.take<int32_t>(beam_rows_);
  beam_requests_ = memory_.take<int32_t>(beam_rows_);
  beam_places_ = memory_.take<int64_t>(beam_rows_);
  beam_ancestors_ = memory_.take<int32_t>(beam_rows_ * limits_.levels);
  products_.use(memory_.take_bytes(Products::kWorkspaceBytes, 1));
}

// The rows of prompts: their tokens, the begin tokens, or both. Returns tokens per row.
int64_t ForwardPass::write_inputs(RowInputs& inputs, const Prompt* prompts, bool history, bool begin) {
  int64_t group = 1, row = 0, last = 0;
  for (const int32_t i : begun_) group = std::max<int64_t>(group, history ? prompts[i].group : 1);
  const int64_t capacity = begin ? decoder_positions_ : limits_.max_prompt;
  for (const int32_t i : begun_) {
    const bool has_kv = prompts[i].shared_kv != nullptr;
    int64_t position = has_kv && begin && !encodes() ? prompts[i].shared_kv->length : 0;
    const auto write = [&](const int32_t* tokens, int64_t positions, int64_t given) {
      for (int64_t p = 0; p < positions; ++p, ++row, ++position) {
        if (row >= most_rows_ || position >= capacity)
          fail(SIDBEAM_INTERNAL, "prefill: prompt %d has more positions than the lane was made for", i);
        std::copy_n(tokens + p * given, given, inputs.tokens + row * group);
        std::fill(inputs.tokens + row * group + given, inputs.tokens + (row + 1) * group, -1);
        inputs.positions[row] = static_cast<int32_t>(position);
        inputs.places[row] = i * capacity + position;
      }
    };
    if (history && !(encodes() && has_kv)) write(prompts[i].tokens, prompts[i].positions, prompts[i].group);
    if (begin) write(limits_.begin_tokens, limits_.begin_count, 1);
    for (int64_t back = kept_rows(); back > 0; --back, ++last) {
      inputs.last_rows[last] = static_cast<int32_t>(row - back);
      inputs.last_positions[last] = static_cast<int32_t>(position - back);
    }
    inputs.lengths[i] = position;
  }
  rows_ = row;
  return group;
}

void ForwardPass::send_inputs(int which, int64_t rows, int64_t group, int64_t last_rows) {
  const RowInputs &from = host_[which], &to = there_[which];
  const auto send = [&](auto* target, const auto* source, int64_t n) {
    check(cudaMemcpyAsync(target, source, static_cast<size_t>(n) * sizeof *source, cudaMemcpyHostToDevice, stream_),
          "copy a prompt");
  };
  send(to.tokens, from.tokens, rows * group);
  send(to.positions, from.positions, rows);
  send(to.places, from.places, rows);
  send(to.last_rows, from.last_rows, last_rows);
  send(to.last_positions, from.last_positions, last_rows);
  send(to.lengths, from.lengths, batch_);
  check(cudaEventRecord(sent_[which], stream_), "mark a copy");
}

SharedPart ForwardPass::own_part(int64_t request) const {
  SharedPart part;
  part.keys = at(shared_keys_, request * decoder_positions_ * kv_width());
  part.values = at(shared_values_, request * decoder_positions_ * kv_width());
  return part;
}

SharedPart ForwardPass::cross_part(int64_t request) const {
  SharedPart part;
  part.keys = at(cross_keys_, request * limits_.max_prompt * kv_width());
  part.values = at(cross_values_, request * limits_.max_prompt * kv_width());
  return part;
}

// Adds the prompts' rows, and their last ones.
void ForwardPass::add_prompts(const Prompt* prompts, Pass& all, Pass& last) {
  const RowInputs &rows = host_[encodes() ? 1 : 0], &there = there_[encodes() ? 1 : 0];
  const AttentionShape of = shape(0);
  const int32_t tile = attention_tile_rows(model_.dtype);
  const int64_t kept = kept_rows();
  Parts own(of, tile, described_[0]), own_last(of, tile, described_[1]), cross(of, tile, described_[2]),
      cross_last(of, tile, described_[3]);
  int64_t first = 0, last_row = 0;
  for (const int32_t i : begun_) {
    last_row += kept;
    const int64_t next = rows.last_rows[last_row - 1] + 1, length = rows.lengths[i], count_of = next - first;
    first = next;
    SharedPart part = own_part(i);
    part.causal = static_cast<int32_t>(length - count_of);
    part.bias_head_stride = config_.decoder_bias.stride;
    part.bias_row_step = -1;
    if (encodes()) part.bias = config_.decoder_bias.zero - part.causal;
    own.add(part, count_of, length, 1);
    part.causal = kept > 1 ? static_cast<int32_t>(length - kept) : -1;
    if (encodes()) part.bias = config_.decoder_bias.zero - (length - kept);
    own_last.add(part, kept, length, least_items(of, plan_of(length, 0)));
    if (!encodes()) continue;
    const int64_t encoded = prompts[i].shared_kv != nullptr ? prompts[i].shared_kv->length : prompts[i].positions;
    cross.add(cross_part(i), count_of, encoded, 1);
    cross_last.add(cross_part(i), kept, encoded, least_items(of, plan_of(encoded, 0)));
  }
  Section section, section_last;
  section.rows = first, section.positions = there.positions, section.places = there.places;
  section.self = own.send(prompt_parts_, stream_);
  section_last.rows = last_row, section_last.positions = there.last_positions;
  section_last.self = own_last.send(last_parts_, stream_);
  if (encodes()) {
    section.cross = cross.send(cross_parts_, stream_);
    section_last.cross = cross_last.send(cross_last_parts_, stream_);
  }
  all.add(section);
  last.add(section_last);
}

// Waits for what still reads the inputs, and brings what the prompts begin with.
void ForwardPass::begin_prompts(const Prompt* prompts) {
  for (const cudaEvent_t event : sent_) check(cudaEventSynchronize(event), "wait for a copy");
  if (encodes() && !begun_.empty()) encode(prompts);
  for (const int32_t i : begun_)
    if (!encodes() && prompts[i].shared_kv != nullptr) take_shared(*prompts[i].shared_kv, i, false);
}

void ForwardPass::prefill(const Prompt* prompts, int32_t count) {
  const Current current(device_);
  if (count < 1 || count > limits_.requests)
    fail(SIDBEAM_INTERNAL, "prefill: %d prompts, expected 1..%d", count, limits_.requests);
  batch_ = count;
  begun_.resize(static_cast<size_t>(count));
  std::iota(begun_.begin(), begun_.end(), 0);
  begin_prompts(prompts);
  const int which = encodes() ? 1 : 0;
  const int64_t group = write_inputs(host_[which], prompts, !encodes(), true);
  send_inputs(which, rows_, group, count * kept_rows());
  Pass all, last;
  all.x = x_;
  last.x = x_last_;
  add_prompts(prompts, all, last);
  check(launch_embed(model_.dtype, model_.embedding, c_.vocabulary, there_[which].tokens, static_cast<int32_t>(group),
                     rows_, c_.hidden, x_, stream_),
        "launch an embedding");
  run_decoder(all, &last);
  rows_ = count;
}

// Its output goes through each decoder layer's own keys and values.
void ForwardPass::encode(const Prompt* prompts) {
  const int64_t group = write_inputs(host_[0], prompts, true, false);
  send_inputs(0, rows_, group, 0);
  if (rows_ > 0) {
    Section section;
    section.rows = rows_;
    section.positions = there_[0].positions;
    section.places = there_[0].places;
    Parts parts(shape(0), attention_tile_rows(model_.dtype), described_[0]);
    for (const int32_t i : begun_) {
      SharedPart part = cross_part(i);
      part.bias = config_.encoder_bias.zero;
      part.bias_head_stride = config_.encoder_bias.stride;
      part.bias_row_step = -1;
      const int64_t length = prompts[i].shared_kv == nullptr ? prompts[i].positions : 0;
      parts.add(part, length, length, 1);
    }
    section.cross = parts.send(encoder_parts_, stream_);
    encode_rows(section, group);
  }
  for (const int32_t i : begun_)
    if (prompts[i].shared_kv != nullptr) take_shared(*prompts[i].shared_kv, i, true);
}

void ForwardPass::encode_rows(const Section& section, int64_t group) {
  const int32_t all_heads = c_.heads + 2 * c_.kv_heads;
  check(launch_embed(model_.dtype, model_.embedding, c_.vocabulary, there_[0].tokens, static_cast<int32_t>(group),
                     section.rows, c_.hidden, x_, stream_),
        "launch an embedding");
  for (int32_t i = 0; i < c_.encoder_layers; ++i) {
    const DeviceLayer& layer = model_.encoder.layers[i];
    norm(x_, layer.self.norm, section.rows, normed_);
    multiply(layer.self.qkv, 0, qkv_width(), normed_, section.rows, qkv_, qkv_width());
    split_heads(layer.self, 0, all_heads, section, cross_keys_, cross_values_, false);
    attend(section.cross, 0, section, true);
    add_product(layer.self.output, attended_, section.rows, x_);
    feed_forward(layer, section.rows, x_);
  }
  norm(x_, model_.encoder.norm, section.rows, normed_);
  for (int32_t i = 0; i < c_.layers; ++i) {
    const DeviceAttention& cross = model_.decoder.layers[i].cross;
    const int64_t first = (i + 1) * limits_.requests * limits_.max_prompt * kv_width();
    multiply(cross.qkv, int64_t{c_.heads} * c_.head_dim, 2 * kv_width(), normed_, section.rows, qkv_, qkv_width());
    split_heads(cross, c_.heads, all_heads, section, at(cross_keys_, first), at(cross_values_, first), false);
  }
}

// Copies what the host or the device has, through the rows of queries where the type is another.
void ForwardPass::take_shared(const sidbeam_shared_kv& given, int64_t request, bool cross) {
  const int64_t capacity = cross ? limits_.max_prompt : decoder_positions_, elements = given.length * kv_width();
  if (given.length > capacity)
    fail(SIDBEAM_INTERNAL, "prefill: a shared_kv has more positions than the lane was made for");
  const auto bytes = static_cast<size_t>(elements * (given.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2));
  const auto take = [&](const void* from, void* to) {
    const bool same = given.dtype == model_.dtype;
    check(cudaMemcpyAsync(same ? to : qkv_, from, bytes, cudaMemcpyDefault, stream_), "copy a shared_kv");
    if (!same) check(launch_convert(qkv_, given.dtype, to, model_.dtype, elements, stream_), "convert a shared_kv");
  };
  for (int32_t layer = 0; layer < c_.layers; ++layer) {
    const int64_t place = ((layer + (cross ? 1 : 0)) * limits_.requests + request) * capacity * kv_width();
    take(given.keys[layer], at(cross ? cross_keys_ : shared_keys_, place));
    take(given.values[layer], at(cross ? cross_values_ : shared_values_, place));
  }
}

}  // namespace sidbeam::runner::cuda
