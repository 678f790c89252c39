// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/draft.h"

#include <algorithm>

#include "runner/cuda/attention_rows.cuh"
#include "support/cuda/launch.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::launch;

constexpr int kDraftThreads = 256;
constexpr int64_t kMostBlocks = 4096;  // of a grid that goes on in strides

// A block has a row.
__global__ void __launch_bounds__(kDraftThreads) spread_kernel(SpreadView view) {
  const uint32_t row = blockIdx.x, from_row = row / static_cast<uint32_t>(view.of_each);
  const auto quads = static_cast<int32_t>(draft_stride(view.columns) / 4);
  const float4* from = reinterpret_cast<const float4*>(view.from) + int64_t{from_row} * quads;
  float4* to = reinterpret_cast<float4*>(view.to) + int64_t{row} * quads;
  for (int32_t i = thread_id(); i < quads; i += kDraftThreads) to[i] = from[i];
}

__device__ __forceinline__ float sigmoid_of(float x) { return 1.0F / (1.0F + expf(-x)); }

// The parts of one beam. The order of operations is that of the CPU's cells.
struct CellRow {
  const float *move, *recurrent, *state;
  int32_t width;

  __device__ __forceinline__ float rnn(int32_t c) const { return tanhf(move[c] + recurrent[c]); }
  __device__ __forceinline__ float gru(int32_t c) const {
    const int32_t second = c + width, third = second + width;
    const float reset = sigmoid_of(move[c] + recurrent[c]), update = sigmoid_of(move[second] + recurrent[second]);
    const float fresh = tanhf(fmaf(reset, recurrent[third], move[third]));
    return fmaf(update, state[c] - fresh, fresh);
  }
  __device__ __forceinline__ float next(int32_t transition, int32_t c) const {
    if (transition == SIDBEAM_DRAFT_TRANSITION_RNN) return rnn(c);
    return transition == SIDBEAM_DRAFT_TRANSITION_GRU ? gru(c) : state[c] + move[c];
  }
};

// A block has a beam.
template <class T>
__global__ void __launch_bounds__(kDraftThreads) cell_kernel(CellView view) {
  if (view.width == 0) return;  // nothing is there
  const uint32_t at = blockIdx.x, request = at / static_cast<uint32_t>(view.rows);
  const int64_t beam = int64_t{request} * view.beams + (at - request * static_cast<uint32_t>(view.rows));
  const auto parent = static_cast<uint32_t>(view.parents[beam]), code = static_cast<uint32_t>(view.beam_codes[beam]);
  const bool lives = parent < static_cast<uint32_t>(view.rows_before) && code < view.codes;
  const int64_t stride = draft_weights_stride(view.width);
  const int64_t from = int64_t{request} * view.rows_before + (lives ? parent : 0);
  const CellRow row = {view.moves + (lives ? code : 0) * view.gates,
                       view.recurrent != nullptr ? view.recurrent + from * draft_stride(view.gates) : nullptr,
                       view.before + from * stride, static_cast<int32_t>(view.width)};
  float* states = view.states + at * stride;
  T* x = view.x != nullptr ? static_cast<T*>(view.x) + at * stride : nullptr;
  for (int32_t c = thread_id(); c < row.width; c += kDraftThreads) {
    const float next = lives ? row.next(view.transition, c) : 0.0F;
    states[c] = next;
    if (x != nullptr) x[c] = narrowed<T>(next);
  }
}

// A thread has a beam.
__global__ void __launch_bounds__(kDraftThreads) results_kernel(ResultsView view, uint32_t count) {
#pragma unroll 1  // unrolling would divide 64 bits, to know how often
  for (uint32_t at = blockIdx.x * kDraftThreads + static_cast<uint32_t>(thread_id()); at < count;
       at += gridDim.x * kDraftThreads) {
    const uint32_t request = at / static_cast<uint32_t>(view.beams);
    const auto beam = static_cast<int32_t>(at - request * static_cast<uint32_t>(view.beams));
    const int32_t errors = view.errors[request], live = errors == 0 ? view.live[request] : 0;
    if (beam == 0) view.to.live[request] = live, view.to.errors[request] = errors;
    view.to.scores[at] = beam < live ? view.scores[at] : -infinity();
    if (beam < live) continue;
    view.to.ordinals[at] = -1;
    for (int32_t l = 0; l < view.levels; ++l) view.to.sids[int64_t{at} * view.levels + l] = -1;
  }
}

}  // namespace

cudaError_t launch_spread(const SpreadView& view, int64_t rows, cudaStream_t stream) {
  return launch(spread_kernel, {rows, kDraftThreads}, stream, view);
}

cudaError_t launch_cells(const CellView& view, cudaStream_t stream) {
  const auto with = [&](auto type) {
    return launch(cell_kernel<decltype(type)>, {int64_t{view.requests} * view.rows, kDraftThreads}, stream, view);
  };
  if (view.dtype == SIDBEAM_DTYPE_F32) return with(float{});
  return view.dtype == SIDBEAM_DTYPE_F16 ? with(F16{}) : with(Bf16{});
}

cudaError_t launch_results(const ResultsView& view, cudaStream_t stream) {
  const int64_t count = int64_t{view.requests} * view.beams;
  const int64_t blocks = std::clamp<int64_t>((count + kDraftThreads - 1) / kDraftThreads, 1, kMostBlocks);
  return launch(results_kernel, {blocks, kDraftThreads}, stream, view, static_cast<uint32_t>(count));
}

cudaError_t warm_draft(cudaStream_t stream) {
  cudaError_t error = launch_spread({}, 1, stream);
  CellView cells;
  cells.requests = cells.rows = 1;
  for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
    cells.dtype = dtype;
    if (error == cudaSuccess) error = launch_cells(cells, stream);
  }
  return error == cudaSuccess ? launch_results({}, stream) : error;
}

}  // namespace sidbeam::runner::cuda
