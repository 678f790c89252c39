// Drawing children of a row, by one block: their integer weights (backend/draw.h), summed up by shares of neighbours,
// and the child that random bits choose. Weights are computed again where they are needed: sums of shares are all that
// is kept, whatever the number of children.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/rows.cuh"
#include "backend/draw.h"
#include "support/cuda/block_fold.cuh"

namespace sidbeam::cuda {

// The number of shares: up to as many children are a share each.
#if defined(SIDBEAM_EMULATED)
inline constexpr uint32_t kShares = 256;  // so that small tests have shares of several children too
#else
inline constexpr uint32_t kShares = 1024;
#endif

template <int kThreads>
struct ChoiceShared {
  uint64_t through[kShares];  // weights up to the end of each share
  typename BlockFold<float, kThreads>::Storage fold;
  typename BlockScan<uint64_t, kThreads>::Storage scan;
};

struct Larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
struct Add {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a + b; }
};

// The largest x of the children, +inf where one is NaN. x(i) is that of child i < count, -inf if it is no candidate.
template <int kThreads, class X>
__device__ __forceinline__ float largest_of(uint32_t count, const X& x,
                                            typename BlockFold<float, kThreads>::Storage& fold) {
  float own = -kInfinity;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < count; i += kThreads) {
    const float value = x(i);
    if (!(value <= own)) own = value == value ? value : kInfinity;
  }
  return BlockFold<float, kThreads>::all(own, Larger(), fold);
}

// The unit of a row's weights: the largest x, whose weight is 2^bits.
struct WeightUnit {
  float largest = 0.0F;
  int bits = kWeightBits;

  __device__ uint64_t weight(float x) const { return weight_of(x, largest, weight_scale(bits)); }
};

// The sum of the children's weights, where none of them is to be chosen.
template <int kThreads, class X>
__device__ __forceinline__ uint64_t total_weight(uint32_t count, const WeightUnit& unit, const X& x,
                                                 typename BlockFold<uint64_t, kThreads>::Storage& fold) {
  uint64_t own = 0;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < count; i += kThreads) own += unit.weight(x(i));
  return BlockFold<uint64_t, kThreads>::all(own, Add(), fold);
}

struct Weights {
  uint64_t total = 0;
  uint32_t count = 0, share = 1;  // children, and children of a share
  WeightUnit unit;
};

template <int kThreads, class X>
__device__ __forceinline__ Weights weigh(uint32_t count, const WeightUnit& unit, const X& x,
                                         ChoiceShared<kThreads>& shared) {
  constexpr uint32_t kOfThread = kShares / kThreads;
  Weights weights{0, count, (count + kShares - 1) / kShares, unit};
  for (uint32_t s = static_cast<uint32_t>(thread_id()); s < kShares; s += kThreads) {
    const uint32_t begin = s * weights.share, end = begin + weights.share < count ? begin + weights.share : count;
    uint64_t sum = 0;
    for (uint32_t i = begin; i < end; ++i) sum += unit.weight(x(i));
    shared.through[s] = sum;
  }
  __syncthreads();
  uint64_t* const through = shared.through + static_cast<uint32_t>(thread_id()) * kOfThread;
  uint64_t own = 0;
  for (uint32_t s = 0; s < kOfThread; ++s) own += through[s];
  uint64_t sum = BlockScan<uint64_t, kThreads>::before(own, weights.total, shared.scan);
  for (uint32_t s = 0; s < kOfThread; ++s) through[s] = sum += through[s];
  __syncthreads();
  return weights;
}

// The child that 64 random bits choose; by any thread.
template <class X>
__device__ __forceinline__ uint32_t choose(const Weights& weights, uint64_t bits, const uint64_t* through, const X& x) {
  const uint64_t threshold = threshold_of(bits, weights.total);
  uint32_t share = 0, last = kShares - 1;  // the first share that exceeds the threshold
  while (share < last) {
    const uint32_t middle = (share + last) / 2;
    if (through[middle] > threshold) {
      last = middle;
    } else {
      share = middle + 1;
    }
  }
  uint32_t i = share * weights.share;
  const uint32_t end = i + weights.share < weights.count ? i + weights.share : weights.count;
  for (uint64_t sum = share > 0 ? through[share - 1] : 0; i + 1 < end; ++i) {
    sum += weights.unit.weight(x(i));
    if (sum > threshold) break;
  }
  return i;
}

}  // namespace sidbeam::cuda
