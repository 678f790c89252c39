// SPDX-License-Identifier: Apache-2.0
#include "bench_kernels.h"

#include <algorithm>

namespace gpu {
namespace {

constexpr int kThreads = 256, kLoads = 4;

__device__ uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The sum of four uniform numbers, scaled to deviation 3.
__device__ float gaussian(uint64_t hash) {
  float sum = -2.0F;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>(hash >> (16 * i) & 0xffff) * (1.0F / 65536.0F);
  return sum * 5.19615242F;
}

__global__ void __launch_bounds__(kThreads) fill_kernel(void* data, int64_t count, bool narrow, uint64_t seed) {
  const auto threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    const float value = gaussian(mix(seed ^ static_cast<uint64_t>(i)));
    if (narrow) {
      const uint32_t bits = __float_as_uint(value);
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1)) >> 16);
    } else {
      static_cast<float*>(data)[i] = value;
    }
  }
}

// A block takes every gridDim.x-th tile of every row; several words are on their way before the first is added.
__global__ void __launch_bounds__(kThreads) read_kernel(Stretch stretch, int64_t words, int64_t tiles, uint32_t* out) {
  uint32_t sum = 0;
  for (int64_t tile = blockIdx.x; tile < stretch.rows * tiles; tile += gridDim.x) {
    const int64_t row = tile / tiles, first = tile % tiles * (kThreads * kLoads) + threadIdx.x;
    const char* begin = static_cast<const char*>(stretch.data) + row * stretch.row_bytes + stretch.first;
    const auto* from = reinterpret_cast<const uint4*>(reinterpret_cast<uintptr_t>(begin) & ~uintptr_t{15});
    uint4 word[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      word[i] = first + i * kThreads < words ? from[first + i * kThreads] : uint4{0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < kLoads; ++i) sum += word[i].x ^ word[i].y ^ word[i].z ^ word[i].w;
  }
  if (sum == 0x12345678U) *out = sum;  // hardly ever true; keeps the compiler from removing the reads
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), int64_t blocks, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace

cudaError_t fill_logits(void* data, int64_t count, bool narrow, uint64_t seed, cudaStream_t stream) {
  const int64_t blocks = std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, 4096);
  return launch(fill_kernel, blocks, stream, data, count, narrow, seed);
}

cudaError_t read_all(const Stretch& stretch, int processors, uint32_t* out, cudaStream_t stream) {
  // Rows that follow each other without a gap are one.
  Stretch whole = stretch;
  if (stretch.bytes == stretch.row_bytes) whole = {stretch.data, 1, 0, 0, stretch.rows * stretch.row_bytes};
  const int64_t words = whole.bytes / 16, tiles = (words + kThreads * kLoads - 1) / (kThreads * kLoads);
  const int64_t blocks = std::clamp<int64_t>(whole.rows * tiles, 1, int64_t{processors} * 8);
  return launch(read_kernel, blocks, stream, whole, words, tiles, out);
}

}  // namespace gpu
