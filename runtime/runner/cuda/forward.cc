// The decoder, of prompts and of beams. SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/forward.h"

#include <algorithm>
#include <cmath>

#include "runner/cuda/rows.h"
#include "sidbeam/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;

constexpr size_t kMostGraphs = 256;  // more kinds of work run as they are

// For a scope, captures what is enqueued on a stream.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "begin a graph");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (!ended_) cudaStreamEndCapture(stream_, &graph_), cudaGetLastError();
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  cudaGraphExec_t end() {
    ended_ = true;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamEndCapture(stream_, &graph_), "end a graph");
    check(cudaGraphInstantiate(&exec, graph_, 0), "make a graph");
    return exec;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

int64_t ForwardPass::element() const { return model_.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

AttentionShape ForwardPass::shape(int32_t depth) const {
  return {model_.dtype, c_.heads, c_.kv_heads, c_.head_dim, depth, device_.processors};
}

void ForwardPass::norm(const float* x, const float* gain, int64_t rows, void* out, const int32_t* from, float* copy,
                       float scale) {
  NormView view;
  view.dtype = model_.dtype;
  view.hidden = c_.hidden;
  view.x = x;
  view.from = from;
  view.gain = gain;
  view.epsilon = c_.norm_epsilon;
  view.scale = scale;
  view.out = out;
  view.copy = copy;
  check(launch_norm(view, rows, stream_), "launch a norm");
}

// What comes out: for the output layer, whose scale it takes, or states as they are.
void ForwardPass::norm_last(const Pass& pass) {
  const float* gain = model_.decoder.norm;
  if (states_ == nullptr) {
    norm(pass.x, gain, pass.rows(), final_, pass.order, nullptr, c_.output_scale);
    return;
  }
  NormView view;
  view.dtype = SIDBEAM_DTYPE_F32;
  view.hidden = c_.hidden;
  view.x = pass.x;
  view.gain = gain;
  view.epsilon = c_.norm_epsilon;
  view.out = states_;
  check(launch_norm(view, pass.rows(), stream_), "launch a norm");
}

const void* ForwardPass::weights_of(const DeviceLinear& linear, int64_t first, int64_t count) {
  const int64_t from = first * linear.inputs;
  if (linear.scales == nullptr) return at(linear.weights, from);
  check(launch_widen(static_cast<const int8_t*>(linear.weights) + from, linear.scales + first, count, linear.inputs,
                     model_.dtype, widened_, stream_),
        "widen weights");
  return widened_;
}

void ForwardPass::multiply(const DeviceLinear& linear, int64_t first, int64_t count, const void* x, int64_t rows,
                           void* y, int64_t y_stride) {
  products_.enqueue({weights_of(linear, first, count), x, at(y, first), rows, count, linear.inputs, y_stride,
                     model_.dtype, model_.dtype, false},
                    stream_);
}

void ForwardPass::add_product(const DeviceLinear& linear, const void* from, int64_t rows, float* x) {
  if (linear.bias != nullptr) check(launch_add_bias(linear.bias, x, rows, c_.hidden, stream_), "launch a sum");
  products_.enqueue({weights_of(linear, 0, linear.outputs), from, x, rows, linear.outputs, linear.inputs,
                     linear.outputs, model_.dtype, SIDBEAM_DTYPE_F32, true},
                    stream_);
}

// Of queries there is often nothing to do.
void ForwardPass::split_heads(const DeviceAttention& weights, int32_t first, int32_t last, const Section& section,
                              void* keys, void* values, bool turns) {
  HeadsView view;
  view.dtype = model_.dtype;
  view.heads = c_.heads;
  view.kv_heads = c_.kv_heads;
  view.head_dim = c_.head_dim;
  view.rows = at(qkv_, section.first * qkv_width());
  view.bias = weights.qkv.bias;
  view.q_norm = weights.q_norm;
  view.k_norm = weights.k_norm;
  view.epsilon = c_.norm_epsilon;
  if (turns) view.cosines = config_.cosines, view.sines = config_.sines;
  view.positions = section.positions;
  view.keys = keys;
  view.values = values;
  view.places = section.places;
  const bool queries_change = view.bias != nullptr || view.q_norm != nullptr || view.cosines != nullptr;
  view.first_head = queries_change ? first : std::max(first, c_.heads);
  view.last_head = last;
  if (view.first_head < view.last_head) check(launch_heads(view, section.rows, stream_), "launch heads");
}

void ForwardPass::split_own_heads(int64_t layer, int32_t first, int32_t last, const Pass& pass) {
  for (const Section& section : pass) {
    const bool shared = section.depth == 0;
    const int64_t place = layer * limits_.requests * (shared ? decoder_positions_ : slots_) * kv_width();
    split_heads(model_.decoder.layers[layer].self, first, last, section,
                at(shared ? shared_keys_ : unshared_keys_, place),
                at(shared ? shared_values_ : unshared_values_, place), true);
  }
}

void ForwardPass::attend(const PassAttention& how, int64_t layer, const Section& section, bool cross) {
  AttentionView view;
  view.dtype = model_.dtype;
  view.heads = c_.heads;
  view.kv_heads = c_.kv_heads;
  view.head_dim = c_.head_dim;
  view.depth = cross ? 0 : section.depth;
  view.scale = encodes() ? 1.0F : 1.0F / std::sqrt(static_cast<float>(c_.head_dim));
  view.parts = how.parts;
  view.requests = how.count;
  view.shared_offset = layer * limits_.requests * (cross ? limits_.max_prompt : decoder_positions_) * kv_width();
  view.queries = at(qkv_, section.first * qkv_width());
  view.query_stride = qkv_width();
  view.unshared_slots = limits_.requests * slots_;
  view.unshared_keys = at(unshared_keys_, layer * view.unshared_slots * kv_width());
  view.unshared_values = at(unshared_values_, layer * view.unshared_slots * kv_width());
  view.ancestors = section.ancestors;
  if (view.depth > 0 && config_.ancestor_bias != nullptr)
    view.ancestor_bias = config_.ancestor_bias + int64_t{c_.heads} * view.depth * (view.depth - 1) / 2;
  view.output = at(attended_, section.first * c_.heads * c_.head_dim);
  view.statistics = statistics_;
  view.sums = sums_;
  if (how.blocks.unshared > 0) view.unshared_partials = unshared_partials_;
  check(launch_attention(view, how.blocks, how.merged, stream_), "launch attention");
}

void ForwardPass::feed_forward(const DeviceLayer& layer, int64_t rows, float* x) {
  norm(x, layer.norm, rows, normed_);
  multiply(layer.in, 0, layer.in.outputs, normed_, rows, inner_, layer.in.outputs);
  ActivationView view;
  view.dtype = model_.dtype;
  view.ffn = c_.ffn;
  view.activation = c_.activation;
  view.gated = c_.gated;
  view.in = inner_;
  view.bias = layer.in.bias;
  view.out = active_;
  check(launch_activate(view, rows, stream_), "launch an activation");
  add_product(layer.out, active_, rows, x);
}

// `last`: the prompts' last rows, of which alone more is needed than keys and values in the last layer, and behind them
// all others.
void ForwardPass::run_decoder(Pass pass, const Pass* last) {
  const int32_t all_heads = c_.heads + 2 * c_.kv_heads;
  const int64_t queries = int64_t{c_.heads} * c_.head_dim;
  for (int32_t i = 0; i < c_.layers; ++i) {
    const DeviceLayer& layer = model_.decoder.layers[i];
    norm(pass.x, layer.self.norm, pass.rows(), normed_);
    if (last != nullptr && i + 1 == c_.layers) {
      multiply(layer.self.qkv, queries, 2 * kv_width(), normed_, pass.rows(), qkv_, qkv_width());
      split_own_heads(i, c_.heads, all_heads, pass);
      norm(pass.x, layer.self.norm, last->rows(), normed_, there_[encodes() ? 1 : 0].last_rows, last->x);
      pass = *last;
      multiply(layer.self.qkv, 0, queries, normed_, pass.rows(), qkv_, qkv_width());
      split_own_heads(i, 0, c_.heads, pass);
    } else {
      multiply(layer.self.qkv, 0, qkv_width(), normed_, pass.rows(), qkv_, qkv_width());
      split_own_heads(i, 0, all_heads, pass);
    }
    for (const Section& section : pass) attend(section.self, i, section, false);
    add_product(layer.self.output, attended_, pass.rows(), pass.x);
    if (encodes()) {
      norm(pass.x, layer.cross.norm, pass.rows(), normed_);
      multiply(layer.cross.qkv, 0, queries, normed_, pass.rows(), qkv_, qkv_width());
      for (const Section& section : pass) {
        split_heads(layer.cross, 0, c_.heads, section, nullptr, nullptr, false);
        attend(section.cross, i + 1, section, true);
      }
      add_product(layer.cross.output, attended_, pass.rows(), pass.x);
    }
    feed_forward(layer, pass.rows(), pass.x);
  }
  norm_last(pass);
}

// From tokens, positions, places and ancestors that are in place, to the last norm.
void ForwardPass::run_beams(const Pass& pass) {
  const int32_t depth = pass.sections[0].depth;
  BeamPartsView parts;
  parts.prompts = prompt_parts_;
  parts.out = beam_parts_;
  parts.of = beam_requests_;
  parts.rows = pass.rows();
  parts.requests = batch_;
  parts.shape = shape(depth);
  parts.tile_rows = attention_tile_rows(model_.dtype);
  parts.least_items = least_items(parts.shape, plan_of(decoder_positions_, depth));
  if (encodes()) {
    parts.bias = config_.decoder_bias.zero - (limits_.begin_count + depth - 1);
    parts.bias_stride = config_.decoder_bias.stride;
  }
  check(launch_beam_parts(parts, stream_), "launch attention");
  if (encodes()) {
    parts.prompts = cross_parts_;
    parts.out = cross_beam_parts_;
    parts.shape = shape(0);
    parts.least_items = least_items(parts.shape, plan_of(limits_.max_prompt, 0));
    parts.bias = nullptr;
    check(launch_beam_parts(parts, stream_), "launch attention");
  }
  check(launch_embed(model_.dtype, model_.embedding, c_.vocabulary, beam_tokens_, 1, pass.rows(), c_.hidden, pass.x,
                     stream_),
        "launch an embedding");
  run_decoder(pass, nullptr);
}

void ForwardPass::decode(const DecodeRows& beams) {
  const Current current(device_);
  if (beams.rows < 1 || beams.rows > beam_rows_ || beams.depth < 1 || beams.depth >= std::max(2, limits_.levels))
    fail(SIDBEAM_INTERNAL, "decode: %d rows of depth %d, expected 1..%lld and 1..%d", beams.rows, beams.depth,
         static_cast<long long>(beam_rows_), limits_.levels - 1);
  BeamsView view;
  view.rows = rows_ = beams.rows;
  view.depth = beams.depth;
  view.requests = batch_;
  view.of = beams.requests;
  view.tokens = beams.tokens;
  view.slots = beams.slots;
  view.ancestors = beams.ancestors;
  view.lengths = there_[encodes() ? 1 : 0].lengths;
  view.slots_per_request = slots_;
  view.tokens_out = beam_tokens_;
  view.positions = beam_positions_;
  view.ancestors_out = beam_ancestors_;
  view.places = beam_places_;
  view.requests_out = beam_requests_;
  check(launch_beams(view, stream_), "launch beams");

  // Grids are for the longest prompts, so that a graph is for all.
  Section section;
  section.rows = rows_;
  section.depth = beams.depth;
  section.positions = beam_positions_;
  section.places = beam_places_;
  section.ancestors = beam_ancestors_;
  const auto spread = [&](SharedPart* parts, int32_t depth, int64_t positions) {
    const AttentionShape of = shape(depth);
    return PassAttention{
        parts, batch_, blocks_of(of, plan_of(positions, depth), most_items(of, batch_, rows_), rows_ * c_.heads), true};
  };
  section.self = spread(beam_parts_, beams.depth, decoder_positions_);
  section.cross = spread(cross_beam_parts_, 0, limits_.max_prompt);
  Pass pass;
  pass.x = x_;
  pass.add(section);
  run_beams(pass);
}

void ForwardPass::replay(const DeviceWork& work) {
  const Current current(device_);
  const auto enqueue = [&] {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check_status(work.enqueue(work.context, &error), error);
  };
  const auto found = graphs_.find(work.key);
  if (found == graphs_.end()) {
    enqueue();
    if (graphs_.size() < kMostGraphs) graphs_[work.key] = nullptr;
    return;
  }
  if (found->second == nullptr) {
    Capture capture(stream_);
    enqueue();
    found->second = capture.end();
  }
  check(cudaGraphLaunch(found->second, stream_), "launch a graph");
}

void ForwardPass::wait() {
  const Current current(device_);
  check(cudaEventRecord(done_, stream_), "wait for results");
  check(cudaEventSynchronize(done_), "wait for results");
}

float* ForwardPass::logits(int32_t level) {
  const Current current(device_);
  const DeviceLevel& of = levels_[level];
  products_.enqueue(
      {of.weights, final_, logits_, rows_, of.columns, c_.hidden, of.columns, model_.dtype, SIDBEAM_DTYPE_F32, false},
      stream_);
  check(launch_holes(of.holes, of.hole_count, logits_, rows_, of.columns, stream_), "launch the output");
  return logits_;
}

}  // namespace sidbeam::runner::cuda
