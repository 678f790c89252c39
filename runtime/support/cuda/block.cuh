// Where a thread stands in its block and warp, the block's memory, and what the lanes of a warp do together: such a
// function is called by all of them.
//
// All shared memory is dynamic, so that the emulator can detect reads of uninitialised memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

__device__ __forceinline__ int thread_id() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane_id() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ __forceinline__ int warp_id() { return static_cast<int>(threadIdx.x) / kWarp; }

// The shared memory of the launch.
template <class Shared>
__device__ __forceinline__ Shared& shared_memory() {
#if defined(SIDBEAM_EMULATED)
  return *static_cast<Shared*>(emulator::shared_memory());
#else
  extern __shared__ __align__(16) unsigned char memory[];
  return *reinterpret_cast<Shared*>(memory);
#endif
}

// The sum of the values of this lane and those before. (CUB's takes a few instructions fewer, but reading it takes nvcc
// four seconds a file.)
template <class T>
__device__ __forceinline__ T warp_sum_through(T value) {
  for (int step = 1; step < kWarp; step *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, step);
    if (lane_id() >= step) value += before;
  }
  return value;
}

// The largest of the lanes' keys.
__device__ inline uint64_t warp_max(uint64_t key) {
  const uint32_t high = __reduce_max_sync(kAllLanes, static_cast<uint32_t>(key >> 32));
  const uint32_t low =
      __reduce_max_sync(kAllLanes, static_cast<uint32_t>(key >> 32) == high ? static_cast<uint32_t>(key) : 0U);
  return uint64_t{high} << 32 | low;
}

}  // namespace sidbeam::cuda
