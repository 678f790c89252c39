// A draft head as functions of the plugin's table. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "runner/cuda/device.h"
#include "runner/cuda/draft.h"
#include "runner/cuda/hidden.h"
#include "runner/cuda/memory.h"
#include "runner/cuda/plugin.h"
#include "runner/cuda/products.h"
#include "support/cuda/check.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam::runner {

// The memory of a decoder's runs. The device must be current.
struct DeviceDraft {
  explicit DeviceDraft(const DeviceDraftConfig& given)
      : config(given), device(cuda::device_of(given.device_id)), memory(cuda::Arena::Where::kDevice) {
    place();
    memory.allocate();
    place();
    products.use(workspace);
  }
  DeviceDraft(const DeviceDraft&) = delete;
  DeviceDraft& operator=(const DeviceDraft&) = delete;
  ~DeviceDraft() = default;

  bool is_narrow() const { return config.dtype != SIDBEAM_DTYPE_F32; }
  bool moves() const { return config.transition != SIDBEAM_DRAFT_TRANSITION_NONE; }
  bool is_recurrent() const { return moves() && config.transition != SIDBEAM_DRAFT_TRANSITION_ADD; }
  bool reads_hidden() const { return config.input != SIDBEAM_DRAFT_INPUT_STATE; }
  bool reads_state() const { return config.input != SIDBEAM_DRAFT_INPUT_HIDDEN; }
  // Rows of s_l of a request.
  int64_t state_rows(int32_t level) const { return moves() ? config.rows[level] : 1; }
  // s_l: in turn, so that a level is at the same place in each run. Without a transition s_1 stands for all.
  float* states(int32_t level) const { return moves() && level % 2 != 0 ? odd_states : even_states; }
  void place();
  void place_logits();

  DeviceDraftConfig config;
  const cuda::Device& device;
  cuda::Arena memory;
  cuda::Products products;
  DeviceDraftView view;
  void* placeholders = nullptr;                         // [B, D] h_l, as products read them
  float* shared = nullptr;                              // [B, V_l] what the logits of a request's beams have in common
  float *even_states = nullptr, *odd_states = nullptr;  // [rows, D] of even and odd levels
  void* x = nullptr;           // the level's as products read them; nullptr: they read the states
  float* recurrent = nullptr;  // [rows, G]
  void* workspace = nullptr;

  // Of a run.
  sidbeam_rows hidden = SIDBEAM_ROWS_INIT;
  cudaStream_t stream = nullptr;
};

void DeviceDraft::place() {
  const int64_t width = draft_weights_stride(config.hidden);
  int64_t rows = 0, parents = 0;
  for (int32_t l = 0; l < config.levels; ++l) {
    rows = std::max(rows, config.requests * state_rows(l));
    if (l + 1 < config.levels) parents = std::max(parents, config.requests * state_rows(l));
  }
  if (reads_hidden()) placeholders = memory.take_bytes(config.requests * width, is_narrow() ? 2 : 4);
  if (reads_state()) {
    if (!is_narrow() || moves()) even_states = memory.take<float>(rows * width);
    if (is_narrow()) x = memory.take_bytes(rows * width, 2);
  }
  if (moves()) odd_states = memory.take<float>(rows * width);
  if (is_recurrent()) recurrent = memory.take<float>(parents * draft_stride(config.gates));
  place_logits();
  const int64_t beams = config.requests * config.beams;
  view.live = memory.take<int32_t>(config.requests);
  view.errors = memory.take<int32_t>(config.requests);
  view.sids = memory.take<int32_t>(beams * config.levels);
  view.scores = memory.take<float>(beams);
  view.ordinals = memory.take<int64_t>(beams);
  workspace = memory.take<uint8_t>(cuda::Products::kWorkspaceBytes);
}

void DeviceDraft::place_logits() {
  int64_t all = 0, of_requests = 0;
  for (int32_t l = 0; l < config.levels; ++l) {
    const int64_t columns = draft_stride(config.of_level[l].codes);
    all = std::max(all, config.requests * config.rows[l] * columns);
    of_requests = std::max(of_requests, config.requests * columns);
  }
  view.logits = memory.take<float>(all);
  if (reads_hidden() || !moves()) shared = memory.take<float>(of_requests);
}

namespace cuda {
namespace {

using sidbeam::cuda::check;

static_assert(draft_weights_stride(9) == padded_width(9), "launch_inputs() writes rows as products read them");

// Row `row` of each request's hidden states, in the type that products read or in f32.
void convert(DeviceDraft& draft, int64_t row, void* to, int32_t dtype) {
  const int64_t size = draft.hidden.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  InputsView view;
  view.hidden = static_cast<const uint8_t*>(draft.hidden.data) + row * draft.hidden.row_stride * size;
  view.dtype = draft.hidden.dtype, view.x_dtype = dtype;
  view.rows = 1;
  view.slot_stride = draft.hidden.slot_stride, view.row_stride = draft.hidden.row_stride;
  view.width = draft.config.hidden;
  view.x = to;
  check(launch_inputs(view, draft.hidden.slots, draft.stream), "launch the inputs of a draft head");
}

void begin(DeviceDraft& draft, const sidbeam_rows& hidden, void* stream) {
  sidbeam::cuda::check_stream(draft.device.id, stream);
  sidbeam::cuda::check_address(draft.device.id, hidden.data, "hidden.data");
  draft.hidden = hidden;
  draft.stream = static_cast<cudaStream_t>(stream);
  if (draft.even_states != nullptr) convert(draft, 0, draft.even_states, SIDBEAM_DTYPE_F32);
  if (draft.x != nullptr) convert(draft, 0, draft.x, draft.config.dtype);
}

// y = x W^T + bias, or += x W^T. Rows of x and of y are as draft_interface.h has them.
struct Linear {
  const void* weights = nullptr;
  const float* bias = nullptr;
  const void* x = nullptr;
  float* y = nullptr;
  int64_t rows = 0, outputs = 0;
  bool add = false;
};

void spread(DeviceDraft& draft, const float* from, int64_t of_each, float* to, int64_t rows, int64_t columns) {
  check(launch_spread({from, of_each, to, columns}, rows, draft.stream), "launch what rows begin with");
}

void multiply(DeviceDraft& draft, const Linear& linear) {
  if (linear.bias != nullptr) spread(draft, linear.bias, linear.rows, linear.y, linear.rows, linear.outputs);
  Product product;
  product.weights = linear.weights;
  product.x = linear.x;
  product.y = linear.y;
  product.rows = linear.rows, product.outputs = linear.outputs, product.inputs = draft.config.hidden;
  product.y_stride = draft_stride(linear.outputs);
  product.dtype = draft.config.dtype, product.y_dtype = SIDBEAM_DTYPE_F32;
  product.add = linear.add || linear.bias != nullptr;
  product.weights_stride = product.x_stride = draft_weights_stride(draft.config.hidden);
  draft.products.enqueue(product, draft.stream);
}

const void* inputs_of(const DeviceDraft& draft, int32_t level) {
  return draft.x != nullptr ? draft.x : draft.states(level);
}

void multiply_level(DeviceDraft& draft, int32_t level) {
  const DeviceDraftLevel& weights = draft.config.of_level[level];
  const int64_t requests = draft.hidden.slots, of_request = draft.config.rows[level], rows = requests * of_request;
  const auto multiply_states = [&](float* to, int64_t count) {
    multiply(draft, {weights.on_state, draft.reads_hidden() ? nullptr : weights.bias, inputs_of(draft, level), to,
                     count, weights.codes, draft.reads_hidden()});
  };
  // The product with h_l is the same for all beams of a request; without a transition so is that with its state.
  const bool spreads = of_request > 1 && draft.shared != nullptr;
  float* const common = spreads ? draft.shared : draft.view.logits;
  if (draft.reads_hidden()) {
    convert(draft, level + 1, draft.placeholders, draft.config.dtype);
    multiply(draft, {weights.on_hidden, weights.bias, draft.placeholders, common, requests, weights.codes, false});
  }
  if (draft.reads_state() && !draft.moves()) multiply_states(common, requests);
  if (spreads) spread(draft, common, of_request, draft.view.logits, rows, weights.codes);
  if (draft.reads_state() && draft.moves()) multiply_states(draft.view.logits, rows);
}

void advance(DeviceDraft& draft, int32_t level, const sidbeam_beams& beams) {
  const DeviceDraftLevel& weights = draft.config.of_level[level];
  const int64_t requests = draft.hidden.slots, before = draft.config.rows[level];
  if (draft.is_recurrent())
    multiply(draft, {weights.recurrent, weights.recurrent_bias, inputs_of(draft, level), draft.recurrent,
                     requests * before, draft.config.gates, false});
  CellView view;
  view.transition = draft.config.transition;
  view.dtype = draft.config.dtype;
  view.width = draft.config.hidden;
  view.requests = static_cast<int32_t>(requests), view.beams = static_cast<int32_t>(draft.config.beams);
  view.rows_before = static_cast<int32_t>(before), view.rows = static_cast<int32_t>(draft.config.rows[level + 1]);
  view.codes = weights.codes, view.gates = draft.config.gates;
  view.moves = weights.moves, view.recurrent = draft.recurrent;
  view.before = draft.states(level), view.states = draft.states(level + 1), view.x = draft.x;
  view.parents = beams.parents, view.beam_codes = beams.codes;
  check(launch_cells(view, draft.stream), "launch a transition");
}

void finish(DeviceDraft& draft, const sidbeam_beams& beams) {
  ResultsView view;
  view.to = draft.view;
  view.live = beams.live, view.errors = beams.errors, view.scores = beams.scores;
  view.requests = static_cast<int32_t>(draft.hidden.slots), view.beams = static_cast<int32_t>(draft.config.beams);
  view.levels = draft.config.levels;
  check(launch_results(view, draft.stream), "launch a draft head's results");
}

// Calls work() with the device current.
template <class Work>
sidbeam_status on_device(DeviceDraft* draft, sidbeam_error* err, const Work& work) {
  return guarded(err, [&] {
    const Current current(draft->device);
    work();
  });
}

}  // namespace

sidbeam_status draft_create(const DeviceDraftConfig* config, DeviceDraft** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(config->device_id));
    *out = std::make_unique<DeviceDraft>(*config).release();
  });
}

void draft_destroy(DeviceDraft* draft) {
  if (draft != nullptr) on_device(draft, nullptr, [&] { delete draft; });
}

DeviceDraftView draft_view(const DeviceDraft* draft) { return draft->view; }
int64_t draft_memory_bytes(const DeviceDraft* draft) { return draft->memory.bytes(); }

sidbeam_status draft_begin(DeviceDraft* draft, const sidbeam_rows* hidden, void* stream, sidbeam_error* err) {
  return on_device(draft, err, [&] { begin(*draft, *hidden, stream); });
}

sidbeam_status draft_logits(DeviceDraft* draft, int32_t level, sidbeam_error* err) {
  return on_device(draft, err, [&] { multiply_level(*draft, level); });
}

sidbeam_status draft_advance(DeviceDraft* draft, int32_t level, const sidbeam_beams* beams, sidbeam_error* err) {
  return on_device(draft, err, [&] { advance(*draft, level, *beams); });
}

sidbeam_status draft_finish(DeviceDraft* draft, const sidbeam_beams* beams, sidbeam_error* err) {
  return on_device(draft, err, [&] { finish(*draft, *beams); });
}

}  // namespace cuda
}  // namespace sidbeam::runner
