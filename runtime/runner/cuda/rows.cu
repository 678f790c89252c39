// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/rows.h"

#include <algorithm>

#include "runner/cuda/attention_cut.h"
#include "runner/cuda/attention_rows.cuh"
#include "sidbeam/rows.h"
#include "support/cuda/launch.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::launch;

constexpr int kRowThreads = 256, kRowWarps = kRowThreads / kWarp;
constexpr int64_t kMostBlocks = 4096;  // of a grid that goes on in strides

int64_t blocks_for(int64_t count) {
  return std::clamp<int64_t>((count + kRowThreads - 1) / kRowThreads, 1, kMostBlocks);
}

// Calls work(i) for this thread's share of [0, count).
template <class Work>
__device__ __forceinline__ void for_each(int64_t count, const Work& work) {
#pragma unroll 1  // unrolling would divide 64 bits, to know how often
  for (int64_t i = int64_t{blockIdx.x} * kRowThreads + thread_id(); i < count; i += int64_t{gridDim.x} * kRowThreads)
    work(i);
}

// The type of elements by its number.
template <class Call>
cudaError_t with_type(int32_t dtype, const Call& call) {
  if (dtype == SIDBEAM_DTYPE_F32) return call(float{});
  return dtype == SIDBEAM_DTYPE_F16 ? call(F16{}) : call(Bf16{});
}

template <class From, class To>
__global__ void __launch_bounds__(kRowThreads) convert_kernel(const From* from, To* to, int64_t count) {
  for_each(count, [&](int64_t i) { to[i] = narrowed<To>(float_of(from[i])); });
}

// A block has an output, a thread four inputs at a time.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    widen_kernel(const int8_t* weights, const float* scales, int32_t inputs, T* out) {
  const int64_t first = int64_t{blockIdx.x} * inputs;
  const float scale = inputs > 0 ? scales[blockIdx.x] : 0.0F;
  const bool words = inputs % 4 == 0 && reinterpret_cast<uintptr_t>(weights) % 4 == 0;
  for (int32_t i = thread_id() * 4; i < inputs; i += kRowThreads * 4) {
    uint32_t four = 0;
    if (words) {
      four = *reinterpret_cast<const uint32_t*>(weights + first + i);
    } else {
      for (int32_t k = 0; k < 4 && i + k < inputs; ++k)
        four |= static_cast<uint32_t>(static_cast<uint8_t>(weights[first + i + k])) << (8 * k);
    }
#pragma unroll
    for (int32_t k = 0; k < 4; ++k)
      if (i + k < inputs)
        out[first + i + k] = narrowed<T>(static_cast<float>(static_cast<int8_t>(four >> (8 * k) & 0xFFU)) * scale);
  }
}

// A block has a row.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    embed_kernel(const T* table, int64_t vocabulary, const int32_t* tokens, int32_t group, int32_t hidden, float* out) {
  const int64_t row = blockIdx.x;
  for (int32_t c = thread_id(); c < hidden; c += kRowThreads) {
    float sum = 0.0F;
    for (int32_t i = 0; i < group; ++i) {
      const int64_t token = tokens[row * group + i];
      if (token >= 0 && token < vocabulary) sum += float_of(table[token * hidden + c]);
    }
    out[row * hidden + c] = sum;
  }
}

struct NormMemory {
  float sums[kRowWarps];
};

template <class T>
__global__ void __launch_bounds__(kRowThreads) norm_kernel(NormView view) {
  float* sums = shared_memory<NormMemory>().sums;
  const int64_t row = blockIdx.x;
  const float* x = view.x + (view.from != nullptr ? view.from[row] : row) * view.hidden;
  float sum = 0.0F;
  for (int32_t c = thread_id(); c < view.hidden; c += kRowThreads) sum = fmaf(x[c], x[c], sum);
  sum = warp_sum(sum);
  if (lane_id() == 0) sums[warp_id()] = sum;
  __syncthreads();
  sum = 0.0F;
  for (float of_warp : shared_memory<NormMemory>().sums) sum += of_warp;
  const float by = view.scale / sqrtf(sum / static_cast<float>(view.hidden) + view.epsilon);
  for (int32_t c = thread_id(); c < view.hidden; c += kRowThreads) {
    if (view.copy != nullptr) view.copy[row * view.hidden + c] = x[c];
    static_cast<T*>(view.out)[row * view.hidden + c] = narrowed<T>(x[c] * by * view.gain[c]);
  }
}

// A warp has a head of a row; a lane has pairs of columns that turn together.
template <class T>
__global__ void __launch_bounds__(kRowThreads) heads_kernel(HeadsView view, uint32_t count) {
  constexpr int kPairs = kMaxAttentionDim / 2 / kWarp;
  const uint32_t i = blockIdx.x * kRowWarps + static_cast<uint32_t>(warp_id());
  if (i >= count) return;
  const auto some = static_cast<uint32_t>(view.last_head - view.first_head);
  const int64_t row = i / some;
  const int32_t head = view.first_head + static_cast<int32_t>(i % some), dim = view.head_dim, half = dim / 2;
  const int32_t all = view.heads + 2 * view.kv_heads, kind = head < view.heads                   ? 0
                                                             : head < view.heads + view.kv_heads ? 1
                                                                                                 : 2;
  T* at = static_cast<T*>(view.rows) + (row * all + head) * dim;
  const float* bias = view.bias != nullptr ? view.bias + int64_t{head} * dim : nullptr;
  const float* norm = kind == 0 ? view.q_norm : kind == 1 ? view.k_norm : nullptr;
  T* out = at;
  if (kind > 0) {
    const int64_t place = view.places[row];
    const int32_t kv_head = head - view.heads - (kind - 1) * view.kv_heads;
    out = place < 0 ? nullptr
                    : static_cast<T*>(kind == 1 ? view.keys : view.values) + (place * view.kv_heads + kv_head) * dim;
  }
  float low[kPairs], high[kPairs], sum = 0.0F;
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    const int32_t c = p * kWarp + lane_id();
    low[p] = high[p] = 0.0F;
    if (c >= (dim + 1) / 2) continue;
    low[p] = float_of(at[c]) + (bias != nullptr ? bias[c] : 0.0F);
    // The middle one of an odd head has no partner, and does not turn: such models have no RoPE.
    const int32_t other = c + (dim + 1) / 2;
    if (other < dim) high[p] = float_of(at[other]) + (bias != nullptr ? bias[other] : 0.0F);
    sum = fmaf(low[p], low[p], fmaf(high[p], high[p], sum));
  }
  const float by = norm != nullptr ? 1.0F / sqrtf(warp_sum(sum) / static_cast<float>(dim) + view.epsilon) : 1.0F;
  const bool turns = kind < 2 && view.cosines != nullptr;
  const int64_t angle = turns ? int64_t{view.positions[row]} * half : 0;
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    const int32_t c = p * kWarp + lane_id(), other = c + (dim + 1) / 2;
    if (c >= (dim + 1) / 2 || out == nullptr) continue;
    if (norm != nullptr) {
      low[p] *= by * norm[c];
      if (other < dim) high[p] *= by * norm[other];
    }
    if (turns) {
      const float cosine = view.cosines[angle + c], sine = view.sines[angle + c], before = low[p];
      low[p] = before * cosine - high[p] * sine;
      high[p] = high[p] * cosine + before * sine;
    }
    out[c] = narrowed<T>(low[p]);
    if (other < dim) out[other] = narrowed<T>(high[p]);
  }
}

__device__ inline float activated(ModelConfig::Activation activation, float x) {
  switch (activation) {
    case ModelConfig::Activation::kRelu:
      return fmaxf(x, 0.0F);
    case ModelConfig::Activation::kGelu:
      return 0.5F * x * (1.0F + erff(x * 0.70710678118654752F));
    case ModelConfig::Activation::kGeluTanh:
      return 0.5F * x * (1.0F + tanhf(0.79788456080286536F * (x + 0.044715F * x * x * x)));
    case ModelConfig::Activation::kQuickGelu:
      return x / (1.0F + expf(-1.702F * x));
    case ModelConfig::Activation::kMish:
      return x * tanhf(log1pf(expf(fminf(x, 20.0F))));
    case ModelConfig::Activation::kTanh:
      return tanhf(x);
    case ModelConfig::Activation::kSilu:
      break;
  }
  return x / (1.0F + expf(-x));
}

// A row of blocks has a row.
template <class T>
__global__ void __launch_bounds__(kRowThreads) activate_kernel(ActivationView view) {
  const int64_t row = blockIdx.x;
  const T* in = static_cast<const T*>(view.in) + row * view.ffn * (view.gated ? 2 : 1);
  for (int32_t c = thread_id(); c < view.ffn; c += kRowThreads) {
    float x = activated(view.activation, float_of(in[c]) + (view.bias != nullptr ? view.bias[c] : 0.0F));
    if (view.gated) x *= float_of(in[view.ffn + c]) + (view.bias != nullptr ? view.bias[view.ffn + c] : 0.0F);
    static_cast<T*>(view.out)[row * view.ffn + c] = narrowed<T>(x);
  }
}

__global__ void __launch_bounds__(kRowThreads)
    bias_kernel(const float* bias, float* x, int32_t columns, int64_t stride) {
  for (int32_t c = thread_id(); c < columns; c += kRowThreads) x[int64_t{blockIdx.x} * stride + c] += bias[c];
}

__global__ void __launch_bounds__(kRowThreads)
    holes_kernel(const int32_t* holes, int64_t count, float* x, int64_t columns) {
  for (int64_t i = thread_id(); i < count; i += kRowThreads) x[int64_t{blockIdx.x} * columns + holes[i]] = -infinity();
}

__global__ void __launch_bounds__(kRowThreads) beams_kernel(BeamsView view) {
  for_each(view.rows, [&](int64_t row) {
    const int32_t request = view.of[row];
    const bool known = request >= 0 && request < view.requests;
    const int64_t first = request * view.slots_per_request;
    const auto is_slot = [&](int32_t slot) { return known && slot >= 0 && slot < view.slots_per_request; };
    view.requests_out[row] = request;
    view.tokens_out[row] = view.tokens[row];
    view.positions[row] = known ? static_cast<int32_t>(view.lengths[request]) + view.depth - 1 : 0;
    view.places[row] = is_slot(view.slots[row]) ? first + view.slots[row] : -1;
    for (int32_t i = 0; i < view.depth; ++i) {
      const int32_t slot = view.ancestors[row * view.depth + i];
      view.ancestors_out[row * view.depth + i] = is_slot(slot) ? static_cast<int32_t>(first) + slot : -1;
    }
  });
}

// A thread has a beam.
__global__ void __launch_bounds__(kRowThreads) beam_list_kernel(DeviceBeamList list) {
  const uint32_t row = blockIdx.x * kRowThreads + threadIdx.x, beams = static_cast<uint32_t>(list.beams);
  if (row >= static_cast<uint32_t>(list.requests) * beams) return;
  const auto request = static_cast<int32_t>(row / beams), beam = static_cast<int32_t>(row % beams);
  if (beam == 0) list.slots[request] = request;
  if (list.level == 0) {
    list.row_map[row] = beam == 0 ? request : -1;
    list.row_beams[row] = 0;
    return;
  }
  const int32_t code = list.beam_codes[row], parent = list.parents[row], before = list.level - 1;
  const bool fed = beam < list.live[request] && code >= 0 && code < list.codes && parent >= 0 && parent < list.beams;
  const int32_t slot = fed ? unshared_slot(list.beams, list.level, beam) : -1;
  list.row_requests[row] = request;
  list.row_tokens[row] = fed ? list.code_tokens[code] : -1;
  list.row_slots[row] = slot;
  list.row_beams[row] = beam;
  list.row_map[row] = fed ? static_cast<int32_t>(row) : -1;
  const int32_t* of_parent = list.ancestors_before + (int64_t{request} * list.beams + parent) * before;
  int32_t* own = list.ancestors + int64_t{row} * list.level;
  for (int32_t i = 0; i < before; ++i) own[i] = fed ? of_parent[i] : -1;
  own[before] = slot;
}

// One block; a thread has a request. The first thread numbers the items.
__global__ void __launch_bounds__(kRowThreads) beam_parts_kernel(BeamPartsView view) {
  const auto rows_before = [&](int32_t request) {
    int64_t low = 0, high = view.rows;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (view.of[middle] < request) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  for (int32_t i = thread_id(); i < view.requests; i += kRowThreads) {
    SharedPart part = view.prompts[i];
    part.first_row = rows_before(i);
    part.causal = -1;
    part.bias = view.bias;
    part.bias_head_stride = view.bias_stride;
    part.bias_row_step = 0;
    cut_keys(view.shape, view.tile_rows, view.least_items, rows_before(i + 1) - part.first_row, part.length, part);
    view.out[i] = part;
  }
  __syncthreads();
  if (thread_id() != 0) return;
  int64_t items = 0;
  for (int32_t i = 0; i < view.requests; ++i) {
    view.out[i].first_item = items;
    items += items_of(view.shape, view.out[i]);
  }
  view.out[view.requests].first_row = view.rows;
  view.out[view.requests].first_item = items;
}

}  // namespace

cudaError_t launch_convert(const void* from, int32_t from_dtype, void* to, int32_t to_dtype, int64_t count,
                           cudaStream_t stream) {
  return with_type(from_dtype, [&](auto a) {
    return with_type(to_dtype, [&](auto b) {
      using From = decltype(a);
      using To = decltype(b);
      return launch(convert_kernel<From, To>, {blocks_for(count), kRowThreads}, stream, static_cast<const From*>(from),
                    static_cast<To*>(to), count);
    });
  });
}

cudaError_t launch_widen(const void* weights, const float* scales, int64_t outputs, int64_t inputs, int32_t dtype,
                         void* out, cudaStream_t stream) {
  return with_type(dtype, [&](auto type) {
    using T = decltype(type);
    return launch(widen_kernel<T>, {outputs, kRowThreads}, stream, static_cast<const int8_t*>(weights), scales,
                  static_cast<int32_t>(inputs), static_cast<T*>(out));
  });
}

cudaError_t launch_embed(int32_t dtype, const void* table, int64_t vocabulary, const int32_t* tokens, int32_t group,
                         int64_t rows, int32_t hidden, float* out, cudaStream_t stream) {
  return with_type(dtype, [&](auto type) {
    using T = decltype(type);
    return launch(embed_kernel<T>, {rows, kRowThreads}, stream, static_cast<const T*>(table), vocabulary, tokens, group,
                  hidden, out);
  });
}

cudaError_t launch_norm(const NormView& view, int64_t rows, cudaStream_t stream) {
  return with_type(view.dtype, [&](auto type) {
    return launch(norm_kernel<decltype(type)>, {rows, kRowThreads, sizeof(NormMemory)}, stream, view);
  });
}

cudaError_t launch_heads(const HeadsView& view, int64_t rows, cudaStream_t stream) {
  const int64_t count = rows * (view.last_head - view.first_head);
  return with_type(view.dtype, [&](auto type) {
    return launch(heads_kernel<decltype(type)>, {(count + kRowWarps - 1) / kRowWarps, kRowThreads}, stream, view,
                  static_cast<uint32_t>(count));
  });
}

cudaError_t launch_activate(const ActivationView& view, int64_t rows, cudaStream_t stream) {
  return with_type(view.dtype, [&](auto type) {
    return launch(activate_kernel<decltype(type)>, {rows, kRowThreads}, stream, view);
  });
}

cudaError_t launch_add_bias(const float* bias, float* x, int64_t rows, int32_t columns, cudaStream_t stream,
                            int64_t stride) {
  return launch(bias_kernel, {rows, kRowThreads}, stream, bias, x, columns, stride != 0 ? stride : columns);
}

cudaError_t launch_holes(const int32_t* holes, int64_t count, float* x, int64_t rows, int64_t columns,
                         cudaStream_t stream) {
  return launch(holes_kernel, {count > 0 ? rows : 0, kRowThreads}, stream, holes, count, x, columns);
}

cudaError_t launch_beams(const BeamsView& view, cudaStream_t stream) {
  return launch(beams_kernel, {blocks_for(view.rows), kRowThreads}, stream, view);
}

cudaError_t launch_beam_list(const DeviceBeamList& list, cudaStream_t stream) {
  const int64_t rows = int64_t{list.requests} * list.beams;
  return launch(beam_list_kernel, {(rows + kRowThreads - 1) / kRowThreads, kRowThreads}, stream, list);
}

cudaError_t launch_beam_parts(const BeamPartsView& view, cudaStream_t stream) {
  return launch(beam_parts_kernel, {1, kRowThreads}, stream, view);
}

cudaError_t warm_rows(cudaStream_t stream) {
  const auto warm = [&](auto kernel, auto... arguments) {
    return launch(kernel, {1, kRowThreads, sizeof(NormMemory)}, stream, arguments...);
  };
  cudaError_t error = cudaSuccess;
  const auto also = [&](cudaError_t one) { error = error == cudaSuccess ? one : error; };
  const auto of_type = [&](auto type) {
    using T = decltype(type);
    HeadsView heads;
    heads.heads = heads.last_head = heads.head_dim = 1;
    also(warm(embed_kernel<T>, static_cast<const T*>(nullptr), int64_t{0}, static_cast<const int32_t*>(nullptr), 0, 0,
              static_cast<float*>(nullptr)));
    also(warm(widen_kernel<T>, static_cast<const int8_t*>(nullptr), static_cast<const float*>(nullptr), 0,
              static_cast<T*>(nullptr)));
    also(warm(norm_kernel<T>, NormView{}));
    also(warm(heads_kernel<T>, heads, 0U));
    also(warm(activate_kernel<T>, ActivationView{}));
    also(warm(convert_kernel<T, float>, static_cast<const T*>(nullptr), static_cast<float*>(nullptr), int64_t{0}));
    also(warm(convert_kernel<T, F16>, static_cast<const T*>(nullptr), static_cast<F16*>(nullptr), int64_t{0}));
    also(warm(convert_kernel<T, Bf16>, static_cast<const T*>(nullptr), static_cast<Bf16*>(nullptr), int64_t{0}));
    return error;
  };
  of_type(float{}), of_type(F16{}), of_type(Bf16{});
  also(warm(bias_kernel, static_cast<const float*>(nullptr), static_cast<float*>(nullptr), 0, int64_t{0}));
  also(warm(holes_kernel, static_cast<const int32_t*>(nullptr), int64_t{0}, static_cast<float*>(nullptr), int64_t{0}));
  also(warm(beams_kernel, BeamsView{}));
  also(warm(beam_list_kernel, DeviceBeamList{}));
  return error;
}

}  // namespace sidbeam::runner::cuda
