// Collective operations of a block: reductions and scans, by CUB's primitives. A function with a storage is called by
// all threads of the block, and may be called again immediately with the same storage; one of a warp by all its lanes.
//
// All shared memory is dynamic, so that the emulator can detect reads of uninitialised memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#if !defined(SIDBEAM_EMULATED)
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>
#endif

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

// Folds every thread's value, in an order that depends only on the number of threads.
template <class T, int kThreads>
struct BlockFold {
#if defined(SIDBEAM_EMULATED)
  struct Storage {
    T values[kThreads];
    T result;
  };
#else
  struct Storage {
    typename cub::BlockReduce<T, kThreads>::TempStorage inner;
    T result;
  };
#endif

  template <class Fold>
  __device__ static T all(const T& value, const Fold& fold, Storage& storage) {
#if defined(SIDBEAM_EMULATED)
    storage.values[thread_id()] = value;
    __syncthreads();
    if (thread_id() == 0) {
      storage.result = storage.values[0];
      for (int i = 1; i < kThreads; ++i) storage.result = fold(storage.result, storage.values[i]);
    }
#else
    const T folded = cub::BlockReduce<T, kThreads>(storage.inner).Reduce(value, fold);
    if (thread_id() == 0) storage.result = folded;
#endif
    __syncthreads();
    return storage.result;  // not written again before another barrier, inside the next fold
  }
};

// Each thread gets the sum of the values of the threads before it.
template <class T, int kThreads>
struct BlockScan {
#if defined(SIDBEAM_EMULATED)
  struct Storage {
    T values[kThreads];
  };
#else
  struct Storage {
    typename cub::BlockScan<T, kThreads>::TempStorage inner;
  };
#endif

  __device__ static T before(const T& value, T& total, Storage& storage) {
    T sum{};
#if defined(SIDBEAM_EMULATED)
    storage.values[thread_id()] = value;
    __syncthreads();
    total = T{};
    for (int i = 0; i < kThreads; ++i) {
      if (i == thread_id()) sum = total;
      total += storage.values[i];
    }
#else
    cub::BlockScan<T, kThreads>(storage.inner).ExclusiveSum(value, sum, total);
#endif
    __syncthreads();
    return sum;
  }
};

// The sum of the values of this lane and those before.
__device__ inline uint32_t warp_sum_through(uint32_t value) {
#if defined(SIDBEAM_EMULATED)
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t before = __shfl_up_sync(kAllLanes, value, step);
    if (lane_id() >= step) value += before;
  }
  return value;
#else
  using Scan = cub::WarpScan<uint32_t>;
  typename Scan::TempStorage none;  // empty at the width of a warp: shuffles
  Scan(none).InclusiveSum(value, value);
  return value;
#endif
}

// The largest of the lanes' keys.
__device__ inline uint64_t warp_max(uint64_t key) {
  const uint32_t high = __reduce_max_sync(kAllLanes, static_cast<uint32_t>(key >> 32));
  const uint32_t low =
      __reduce_max_sync(kAllLanes, static_cast<uint32_t>(key >> 32) == high ? static_cast<uint32_t>(key) : 0U);
  return uint64_t{high} << 32 | low;
}

}  // namespace sidbeam::cuda
