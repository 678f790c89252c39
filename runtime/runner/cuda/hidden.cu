// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/hidden.h"

#include <algorithm>
#include <type_traits>

#include "runner/cuda/attention_rows.cuh"
#include "sidbeam/rows.h"
#include "support/cuda/launch.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::launch;

constexpr int kInputThreads = 128;
constexpr int kDotThreads = 256, kDotWarps = kDotThreads / kWarp;
constexpr int kAtOnce = 4;            // products of a warp, so that as many loads of weights are in flight
constexpr int64_t kDotsOfBlock = 64;  // fewer are not worth a block
constexpr int32_t kBlocksOfProcessor = 8;

// The type of elements by its number.
template <class Call>
cudaError_t with_type(int32_t dtype, const Call& call) {
  if (dtype == SIDBEAM_DTYPE_F32) return call(float{});
  return dtype == SIDBEAM_DTYPE_F16 ? call(F16{}) : call(Bf16{});
}

// The number of the hidden states of beam `at`, by which its logits go as well; -1: none.
__device__ inline int64_t row_of(const int32_t* row_map, int64_t rows, int32_t beams, uint32_t at) {
  const uint32_t slot = at / static_cast<uint32_t>(beams);
  const int64_t row = row_map != nullptr ? row_map[at] : at - slot * static_cast<uint32_t>(beams);
  if (row < 0 || row >= rows) return -1;
  return row_map != nullptr ? row : slot * rows + row;
}

// A block has a row of x.
template <class From, class To>
__global__ void __launch_bounds__(kInputThreads) inputs_kernel(InputsView view) {
  const uint32_t at = blockIdx.x;
  int64_t slot = 0, row = at;
  if (view.offsets != nullptr) {
    if (view.offsets[at + 1] == view.offsets[at]) return;
    if (view.row_map == nullptr) slot = at / static_cast<uint32_t>(view.beams);
    row = view.row_map != nullptr ? view.row_map[at] : at - slot * view.beams;
    if (row < 0 || row >= view.rows) return;
  } else if (view.row_map == nullptr) {
    slot = at / static_cast<uint32_t>(view.rows);
    row = at - slot * view.rows;
  }
  const From* from = static_cast<const From*>(view.hidden) + slot * view.slot_stride + row * view.row_stride;
  To* to = static_cast<To*>(view.x) + int64_t{at} * padded_width(view.width);
  for (int32_t c = thread_id(); c < view.width; c += kInputThreads) to[c] = narrowed<To>(float_of(from[c]));
}

// As float_of(), which takes several instructions for f16.
template <class T>
__device__ __forceinline__ float widened(T value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, F16>) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
  }
#endif
  return float_of(value);
}

// 16 bytes of a row of weights or inputs.
template <class T>
struct Part {
  static constexpr int kElements = 16 / sizeof(T);
  uint4 words;

  __device__ __forceinline__ void load(const T* at) { words = *reinterpret_cast<const uint4*>(at); }
  __device__ __forceinline__ void unpack(float (&out)[kElements]) const {
    const uint32_t v[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        out[i] = __uint_as_float(v[i]);
      } else {
        out[2 * i] = widened(T{static_cast<uint16_t>(v[i] & 0xFFFFU)});
        out[2 * i + 1] = widened(T{static_cast<uint16_t>(v[i] >> 16)});
      }
    }
  }
};

// What a warp multiplies at once: so many products of a beam's inputs and a column's weights.
template <class T>
struct Dots {
  const T* x[kAtOnce];
  const T* weights[kAtOnce];
  float* out[kAtOnce];  // nullptr: none
  float bias[kAtOnce];

  __device__ __forceinline__ void set(const ChildrenView& view, int i, uint32_t beam, int64_t column, bool there) {
    const int64_t row = there ? row_of(view.row_map, view.rows, view.beams, beam) : -1;
    // A step says what is wrong with a beam that has no row, or a child that has no weights.
    there = row >= 0 && column >= 0 && column < view.layer.columns;
    const int64_t of = there ? column : 0;
    weights[i] = static_cast<const T*>(view.layer.weights) + of * view.layer.row_stride;
    x[i] = there ? static_cast<const T*>(view.x) + int64_t{beam} * padded_width(view.layer.width) : weights[i];
    out[i] = there ? view.logits + row * view.row_stride + of : nullptr;
    bias[i] = view.layer.bias != nullptr ? view.layer.bias[of] : 0.0F;
  }

  __device__ __forceinline__ void multiply(int32_t width) const {
    constexpr int kElements = Part<T>::kElements;
    float sums[kAtOnce] = {};
    for (int32_t at = lane_id() * kElements; at + kElements <= width; at += kWarp * kElements) {
      Part<T> of_weights[kAtOnce], of_x[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) of_weights[i].load(weights[i] + at);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) of_x[i].load(x[i] + at);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        float a[kElements], b[kElements];
        of_weights[i].unpack(a);
        of_x[i].unpack(b);
#pragma unroll
        for (int k = 0; k < kElements; ++k) sums[i] = fmaf(a[k], b[k], sums[i]);
      }
    }
    const int32_t last = width / kElements * kElements + lane_id();  // of a part that is not whole
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (last < width) sums[i] = fmaf(float_of(weights[i][last]), float_of(x[i][last]), sums[i]);
      const float sum = warp_sum(sums[i]);
      if (lane_id() == 0 && out[i] != nullptr) *out[i] = bias[i] + sum;
    }
  }
};

// The first beam in [0, count) whose children end behind `at`; count: none.
__device__ inline uint32_t beam_behind(const int64_t* offsets, uint32_t count, int64_t at) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (offsets[middle + 1] <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The lists, of which each warp has a share; then the beams whose lists did not fit, all columns of which all warps
// share.
template <class T>
__global__ void __launch_bounds__(kDotThreads, 2) children_kernel(ChildrenView view) {
  const uint32_t warps = gridDim.x * kDotWarps, warp = blockIdx.x * kDotWarps + static_cast<uint32_t>(warp_id());
  const auto count = static_cast<uint32_t>(view.count);
  const auto width = static_cast<int32_t>(view.layer.width);
  if (count == 0) return;
  const uint32_t fitting = beam_behind(view.offsets, count, view.capacity);
  const auto listed = static_cast<uint32_t>(view.offsets[fitting]);
  const uint32_t share = ((listed + warps - 1) / warps + kAtOnce - 1) / kAtOnce * kAtOnce;
  const uint64_t begin = uint64_t{warp} * share;
  const auto end = static_cast<uint32_t>(begin + share < listed ? begin + share : listed);
  Dots<T> dots;
  uint32_t beam = begin < end ? beam_behind(view.offsets, fitting, static_cast<int64_t>(begin)) : 0;
  for (auto at = static_cast<uint32_t>(begin); begin < end && at < end; at += kAtOnce) {
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const bool there = at + i < end;
      while (there && view.offsets[beam + 1] <= at + i) ++beam;
      dots.set(view, static_cast<int>(i), beam, there ? view.columns[at + i] : 0, there);
    }
    dots.multiply(width);
  }
  for (beam = fitting; beam < count; ++beam) {
    if (view.offsets[beam + 1] == view.offsets[beam]) continue;
    for (int64_t at = int64_t{warp} * kAtOnce; at < view.layer.columns; at += int64_t{warps} * kAtOnce) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) dots.set(view, i, beam, at + i, true);
      dots.multiply(width);
    }
  }
}

}  // namespace

cudaError_t launch_inputs(const InputsView& view, int64_t count, cudaStream_t stream) {
  return with_type(view.dtype, [&](auto from) {
    return with_type(view.x_dtype, [&](auto to) {
      return launch(inputs_kernel<decltype(from), decltype(to)>, {count, kInputThreads}, stream, view);
    });
  });
}

cudaError_t launch_children(const ChildrenView& view, int32_t processors, cudaStream_t stream) {
  const int64_t blocks = std::clamp<int64_t>((view.capacity + kDotsOfBlock - 1) / kDotsOfBlock, 1,
                                             int64_t{processors} * kBlocksOfProcessor);
  return with_type(view.layer.dtype, [&](auto type) {
    return launch(children_kernel<decltype(type)>, {blocks, kDotThreads}, stream, view);
  });
}

cudaError_t warm_hidden(cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  InputsView inputs;  // a row of no width
  inputs.rows = 1;
  ChildrenView children;
  for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
    for (const int32_t x_dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
      inputs.dtype = dtype, inputs.x_dtype = x_dtype;
      if (error == cudaSuccess) error = launch_inputs(inputs, 1, stream);
    }
    children.layer.dtype = dtype;
    if (error == cudaSuccess) error = launch_children(children, 1, stream);
  }
  return error;
}

}  // namespace sidbeam::runner::cuda
