// Reductions and scans of a block, by CUB's primitives; called by all threads of the block, and again immediately with
// the same storage if need be. Apart from block.cuh since nvcc takes some four seconds to read CUB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/block.cuh"

#if !defined(SIDBEAM_EMULATED)
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#endif

namespace sidbeam::cuda {

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

}  // namespace sidbeam::cuda
