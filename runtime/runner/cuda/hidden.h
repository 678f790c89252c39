// Logits from hidden states: the interface of the kernels. All is enqueued; all addresses are of the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runner/cuda/hidden_interface.h"

namespace sidbeam::runner::cuda {

// Rows of x begin at multiples of 16 bytes, whatever their type.
constexpr int64_t padded_width(int64_t width) { return (width + 7) / 8 * 8; }

// Hidden states as the caller has them, and the layer's inputs that are made of them.
struct InputsView {
  const void* hidden = nullptr;
  int32_t dtype = 0, x_dtype = 0;
  int64_t rows = 0, slot_stride = 0, row_stride = 0;  // elements, as in sidbeam_rows
  int64_t width = 0;
  void* x = nullptr;  // [count, padded_width(width)] of x_dtype
  // For the children alone: x is by beam, of those that have some; otherwise x is by row.
  const int64_t* offsets = nullptr;
  const int32_t* row_map = nullptr;
  int32_t beams = 0;
};
// x of `count` beams or rows.
cudaError_t launch_inputs(const InputsView& view, int64_t count, cudaStream_t stream);

// Products of beams and their children.
struct ChildrenView {
  DeviceOutputLayer layer;
  const void* x = nullptr;           // as launch_inputs() leaves it, by beam
  const int64_t* offsets = nullptr;  // [count + 1] of children, by beam
  const int32_t* columns = nullptr;  // the first `capacity` of them
  int64_t capacity = 0, count = 0;   // count: beams of the call's slots
  const int32_t* row_map = nullptr;
  int64_t rows = 0;  // of hidden states; in all, or, without a row map, of a slot
  int32_t beams = 0;
  float* logits = nullptr;
  int64_t row_stride = 0;
};
cudaError_t launch_children(const ChildrenView& view, int32_t processors, cudaStream_t stream);

// Launches the kernels with nothing to do once.
cudaError_t warm_hidden(cudaStream_t stream);

}  // namespace sidbeam::runner::cuda
