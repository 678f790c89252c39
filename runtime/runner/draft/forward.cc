// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/forward.h"

#include <algorithm>
#include <cstring>

namespace sidbeam::runner {
namespace {

constexpr int64_t kLeastElements = 16384;  // fewer are not worth a thread

void copy_floats(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

void multiply_with_bias(const Workers& workers, ConstRows x, const Matrix& weights, const Buffer<float>& bias, Rows y) {
  multiply(workers, x, weights, y, bias.size() > 0 ? Start::kBias : Start::kZero, bias.data());
}

}  // namespace

void count_rows(const DraftShape& shape, int32_t beams, int32_t surplus, int64_t* rows) {
  const int64_t most = shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE ? 1 : beams;
  int64_t prefixes = 1;
  for (int32_t l = 0; l < shape.levels; ++l) {
    rows[l] = std::min(most, prefixes);
    prefixes = rows[l] * (int64_t{shape.codes[l]} + surplus);
  }
}

DraftForward::DraftForward(const Allocator& allocator, const DraftHead& head, const Workers& workers, int64_t requests,
                           int32_t beams)
    : head_(head), workers_(workers) {
  allocate(allocator, requests, beams);
}

void DraftForward::allocate(const Allocator& allocator, int64_t requests, int32_t beams) {
  const DraftShape& shape = head_.shape;
  int64_t rows[SIDBEAM_MAX_LEVELS] = {}, most_logits = 0, most_codes = 0, most_parents = 0;
  count_rows(shape, beams, 1, rows);
  for (int32_t l = 0; l < shape.levels; ++l) {
    most_rows_ = std::max(most_rows_, checked_bytes(requests, rows[l]));
    most_logits = std::max(most_logits, checked_bytes(requests, rows[l] * shape.codes[l]));
    most_codes = std::max<int64_t>(most_codes, shape.codes[l]);
    if (l + 1 < shape.levels) most_parents = std::max(most_parents, requests * rows[l]);
  }
  logits_ = Buffer<float>::zeroed(allocator, most_logits);
  states_ = Buffer<float>::zeroed(allocator, checked_bytes(most_rows_, shape.hidden));
  if (shape.input != SIDBEAM_DRAFT_INPUT_STATE)
    placeholders_ = Buffer<float>::zeroed(allocator, checked_bytes(requests, shape.hidden));
  if (shape.input == SIDBEAM_DRAFT_INPUT_BOTH)
    shared_ = Buffer<float>::zeroed(allocator, checked_bytes(requests, most_codes));
  if (has_row_per_request()) return;
  parent_states_ = Buffer<float>::zeroed(allocator, checked_bytes(most_parents, shape.hidden));
  if (shape.is_recurrent()) recurrent_ = Buffer<float>::zeroed(allocator, checked_bytes(most_parents, shape.gates()));
  parent_places_ = Buffer<int32_t>::zeroed(allocator, most_rows_);
  row_parents_ = Buffer<int32_t>::zeroed(allocator, most_rows_);
}

int64_t DraftForward::memory_bytes() const {
  return placeholders_.bytes() + shared_.bytes() + logits_.bytes() + states_.bytes() + parent_states_.bytes() +
         recurrent_.bytes() + parent_places_.bytes() + row_parents_.bytes();
}

void DraftForward::begin(const HiddenStates& hidden) {
  hidden_ = hidden;
  rows_ = hidden.requests;
  const int64_t width = head_.shape.hidden;
  for (int64_t i = 0; i < hidden.requests; ++i)
    widen({hidden.data, hidden.dtype}, i * hidden.request_stride, width, states_.data() + i * width);
}

ConstRows DraftForward::placeholders(int32_t level) {
  const int64_t width = head_.shape.hidden;
  for (int64_t i = 0; i < hidden_.requests; ++i)
    widen({hidden_.data, hidden_.dtype}, i * hidden_.request_stride + (level + 1) * hidden_.row_stride, width,
          placeholders_.data() + i * width);
  return {placeholders_.data(), hidden_.requests, width};
}

Rows DraftForward::logits(int32_t level, const int32_t* row_requests, int64_t count) {
  const DraftShape& shape = head_.shape;
  const DraftLevel& weights = head_.levels[static_cast<size_t>(level)];
  const int64_t codes = shape.codes[level];
  const Rows out(logits_.data(), count, codes);
  const ConstRows states(states_.data(), count, shape.hidden);
  if (shape.input == SIDBEAM_DRAFT_INPUT_HIDDEN) {
    multiply_with_bias(workers_, placeholders(level), weights.on_hidden, weights.bias, out);
  } else if (shape.input == SIDBEAM_DRAFT_INPUT_STATE) {
    multiply_with_bias(workers_, states, weights.on_state, weights.bias, out);
  } else {
    // The product with h_l is the same for all beams of a request.
    multiply_with_bias(workers_, placeholders(level), weights.on_hidden, weights.bias,
                       Rows(shared_.data(), hidden_.requests, codes));
    workers_.split(count, kLeastElements / codes + 1, [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) copy_floats(shared_.data() + row_requests[r] * codes, codes, out[r]);
    });
    multiply(workers_, states, weights.on_state, out, Start::kY);
  }
  return out;
}

// Lists the distinct parents, in the order of their first child, and copies their states; returns their number.
int64_t DraftForward::gather(const int32_t* parents, int64_t count) {
  const int64_t width = head_.shape.hidden;
  std::fill_n(parent_places_.data(), rows_, -1);
  int32_t distinct = 0;
  for (int64_t r = 0; r < count; ++r) {
    int32_t& place = parent_places_[parents[r]];
    if (place < 0) {
      place = distinct++;
      copy_floats(states_.data() + parents[r] * width, width, parent_states_.data() + place * width);
    }
    row_parents_[r] = place;
  }
  return distinct;
}

void DraftForward::move(const DraftLevel& level, const int32_t* codes, int64_t count) {
  const DraftShape& shape = head_.shape;
  const CellKernels& kernels = cell_kernels_of(workers_.target);
  const auto cell = shape.transition == SIDBEAM_DRAFT_TRANSITION_RNN   ? kernels.rnn
                    : shape.transition == SIDBEAM_DRAFT_TRANSITION_GRU ? kernels.gru
                                                                       : kernels.add;
  const int64_t width = shape.hidden, gates = shape.gates();
  workers_.split(count, kLeastElements / gates + 1, [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) {
      const int64_t parent = row_parents_[r];
      const float* recurrent = shape.is_recurrent() ? recurrent_.data() + parent * gates : nullptr;
      cell({level.moves.data() + codes[r] * gates, recurrent, parent_states_.data() + parent * width,
            states_.data() + r * width, width});
    }
  });
}

void DraftForward::advance(int32_t level, const int32_t* parents, const int32_t* codes, int64_t count) {
  const DraftShape& shape = head_.shape;
  const DraftLevel& weights = head_.levels[static_cast<size_t>(level)];
  // Products of parents, not of beams: of the first level's children there is one per request.
  const int64_t distinct = gather(parents, count);
  if (shape.is_recurrent())
    multiply_with_bias(workers_, ConstRows(parent_states_.data(), distinct, shape.hidden), weights.recurrent,
                       weights.recurrent_bias, Rows(recurrent_.data(), distinct, shape.gates()));
  move(weights, codes, count);
  rows_ = count;
}

}  // namespace sidbeam::runner
