// What a draft head does besides products: the interface of the kernels. All is enqueued; all addresses are of the
// device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runner/cuda/draft_interface.h"

namespace sidbeam::runner::cuda {

// to[r] = from[r / of_each], rows of draft_stride(columns) floats.
struct SpreadView {
  const float* from = nullptr;
  int64_t of_each = 1;
  float* to = nullptr;
  int64_t columns = 0;
};
cudaError_t launch_spread(const SpreadView& view, int64_t rows, cudaStream_t stream);

// New states: row r of request i is beam r's. Rows of beams that are dead are zeros, so that products read numbers.
struct CellView {
  int32_t transition = 0;
  int32_t dtype = 0;  // of x
  int64_t width = 0;  // D
  int32_t requests = 0, rows = 0, rows_before = 0, beams = 0;
  int64_t codes = 0, gates = 0;      // V_l, G
  const float* moves = nullptr;      // [V_l, G]
  const float* recurrent = nullptr;  // [requests * rows_before, draft_stride(G)]; not with TRANSITION_ADD
  const float* before = nullptr;     // [requests * rows_before, D] states, by draft_weights_stride(D)
  float* states = nullptr;           // [requests * rows, D] likewise; not where they were before
  void* x = nullptr;                 // the same of `dtype`, for products; nullptr: `states` are
  const int32_t *parents = nullptr, *beam_codes = nullptr;  // [requests, beams], as in sidbeam_beams
};
cudaError_t launch_cells(const CellView& view, cudaStream_t stream);

// A run's results, of what its session has found. Beams that stand for no SID are marked.
struct ResultsView {
  DeviceDraftView to;
  const int32_t *live = nullptr, *errors = nullptr;  // as in sidbeam_beams
  const float* scores = nullptr;
  int32_t requests = 0, beams = 0, levels = 0;
};
cudaError_t launch_results(const ResultsView& view, cudaStream_t stream);

// Launches the kernels with nothing to do once.
cudaError_t warm_draft(cudaStream_t stream);

}  // namespace sidbeam::runner::cuda
