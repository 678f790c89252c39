// What a transformer does to rows besides products and attention: the interface of the kernels. All is enqueued; all
// addresses are of the device. `dtype` is the model's: SIDBEAM_DTYPE_*. The residual stream, norms and biases are f32.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runner/cuda/attention.h"
#include "runner/cuda/attention_plan.h"
#include "runner/cuda/forward_interface.h"
#include "runner/formats/config.h"

namespace sidbeam::runner::cuda {

// out[i] = from[i], of another type.
cudaError_t launch_convert(const void* from, int32_t from_dtype, void* to, int32_t to_dtype, int64_t count,
                           cudaStream_t stream);

// out[r] = the sum of the table's rows tokens[r, 0 .. group); tokens that the table lacks are none.
cudaError_t launch_embed(int32_t dtype, const void* table, int64_t vocabulary, const int32_t* tokens, int32_t group,
                         int64_t rows, int32_t hidden, float* out, cudaStream_t stream);

// out[r] = x[from[r]] / rms * gain * scale. `copy`, if given, gets x[from[r]] itself.
struct NormView {
  int32_t dtype = 0, hidden = 0;
  const float* x = nullptr;
  const int32_t* from = nullptr;  // nullptr: row r
  const float* gain = nullptr;
  float epsilon = 0, scale = 1;
  void* out = nullptr;
  float* copy = nullptr;
};
cudaError_t launch_norm(const NormView& view, int64_t rows, cudaStream_t stream);

// Adds the bias to heads [first_head, last_head) of queries, keys and values, norms and turns queries and keys, and
// writes keys and values to their places. Heads are those of the queries, then of the keys, then of the values.
struct HeadsView {
  int32_t dtype = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int32_t first_head = 0, last_head = 0;
  void* rows = nullptr;  // [rows, heads + 2 kv_heads, head_dim]; queries are changed in place
  const float* bias = nullptr;
  const float *q_norm = nullptr, *k_norm = nullptr;
  float epsilon = 0;
  const float *cosines = nullptr, *sines = nullptr;
  const int32_t* positions = nullptr;  // [rows]
  void *keys = nullptr, *values = nullptr;
  const int64_t* places = nullptr;  // [rows] of keys and values, in rows of them; below 0: nowhere
};
cudaError_t launch_heads(const HeadsView& view, int64_t rows, cudaStream_t stream);

// out[r, c] = activation(in[r, c]) * in[r, ffn + c], or without the gate; with the bias first.
struct ActivationView {
  int32_t dtype = 0, ffn = 0;
  ModelConfig::Activation activation = ModelConfig::Activation::kSilu;
  bool gated = false;
  const void* in = nullptr;     // [rows, ffn * (1 + gated)]
  const float* bias = nullptr;  // likewise, of one row
  void* out = nullptr;          // [rows, ffn]
};
cudaError_t launch_activate(const ActivationView& view, int64_t rows, cudaStream_t stream);

// x[r] += bias; `stride`: elements between rows of x, 0: dense
cudaError_t launch_add_bias(const float* bias, float* x, int64_t rows, int32_t columns, cudaStream_t stream,
                            int64_t stride = 0);
// out[o, i] = weights[o, i] * scales[o], rounded to `dtype`
cudaError_t launch_widen(const void* weights, const float* scales, int64_t outputs, int64_t inputs, int32_t dtype,
                         void* out, cudaStream_t stream);
// x[r, holes[i]] = -inf
cudaError_t launch_holes(const int32_t* holes, int64_t count, float* x, int64_t rows, int64_t columns,
                         cudaStream_t stream);

// What decode() makes of the beams' rows.
struct BeamsView {
  int64_t rows = 0;
  int32_t depth = 0, requests = 0;                                                         // of the batch
  const int32_t *of = nullptr, *tokens = nullptr, *slots = nullptr, *ancestors = nullptr;  // as in DecodeRows
  const int64_t* lengths = nullptr;  // [requests] of the decoder's prompts
  int64_t slots_per_request = 0;
  int32_t *requests_out = nullptr, *tokens_out = nullptr, *positions = nullptr, *ancestors_out = nullptr;
  int64_t* places = nullptr;
};
cudaError_t launch_beams(const BeamsView& view, cudaStream_t stream);

// The rows of a lane's next level.
cudaError_t launch_beam_list(const DeviceBeamList& list, cudaStream_t stream);

// Descriptors of attention for rows that the device knows: of the prompts' parts, with the rows of each request.
struct BeamPartsView {
  const SharedPart* prompts = nullptr;  // [requests]: keys, values and length
  SharedPart* out = nullptr;            // [requests + 1]
  const int32_t* of = nullptr;          // [rows] request of each, rising
  int64_t rows = 0;
  int32_t requests = 0;
  AttentionShape shape;
  int32_t tile_rows = 0, least_items = 0;  // of a request, as cut() takes them
  // Of a T5's own keys: head h's bias of key 0 is at bias + h * stride; nullptr: none.
  const float* bias = nullptr;
  int64_t bias_stride = 0;
};
cudaError_t launch_beam_parts(const BeamPartsView& view, cudaStream_t stream);

// Launches the kernels that have nothing to do with no rows once; beam_parts, which always has, is launched by its
// user.
cudaError_t warm_rows(cudaStream_t stream);

}  // namespace sidbeam::runner::cuda
