// The k-th largest of many different 64-bit keys, and sorting few of them, by one block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/block.cuh"

namespace sidbeam::cuda {

inline constexpr int kDigitBits = 8, kBins = 1 << kDigitBits, kMostWarps = 16;

struct SelectStorage {
  uint64_t least[kMostWarps], most[kMostWarps];  // of each warp
  uint32_t bins[kBins];
  uint32_t digit, left, in_bin;
};

// Finds the digit of the left-th largest key; called by the first warp.
__device__ inline void find_digit(SelectStorage& storage, uint32_t left) {
  constexpr int kOfLane = kBins / kWarp;
  const int top = kBins - 1 - lane_id() * kOfLane;  // lane 0 has the largest digits
  uint32_t sum = 0;
  for (int i = 0; i < kOfLane; ++i) sum += storage.bins[top - i];
  const uint32_t through = warp_sum_through(sum);
  uint32_t before = through - sum;
  if (before >= left || through < left) return;
  for (int i = 0; i < kOfLane; ++i) {
    const uint32_t here = storage.bins[top - i];
    if (before + here >= left) {
      storage.digit = static_cast<uint32_t>(top - i);
      storage.left = left - before;
      storage.in_bin = here;
      return;
    }
    before += here;
  }
}

// The least and the largest of the keys that are not 0. (There is no native minimum of 64 bits in shared memory:
// atomicMin() is a loop of compare-and-swap there.)
struct KeyRange {
  uint64_t least = ~uint64_t{0}, most = 0;
};
template <int kThreads>
__device__ KeyRange range_of_block(const KeyRange& own, SelectStorage& storage) {
  static_assert(kThreads / kWarp <= kMostWarps);
  const uint64_t least = ~warp_max(~own.least), most = warp_max(own.most);
  if (lane_id() == 0) {
    storage.least[warp_id()] = least;
    storage.most[warp_id()] = most;
  }
  __syncthreads();
  KeyRange all;
  for (int w = 0; w < kThreads / kWarp; ++w) {
    all.least = storage.least[w] < all.least ? storage.least[w] : all.least;
    all.most = storage.most[w] > all.most ? storage.most[w] : all.most;
  }
  return all;
}

// A bound that k keys reach, k at least 1 and at most the number of keys that are not 0. `keys(visit)` calls visit(key)
// for this thread's keys, the same ones every time. Bits in which all keys agree are skipped: scores share their sign
// and most of their exponent, and a digit shared by all keys would make every thread wait for the same bin.
template <int kThreads, class Keys>
__device__ __forceinline__ uint64_t select_bound(const Keys& keys, uint32_t k, SelectStorage& storage) {
  __syncthreads();  // the previous call may still be reading the storage
  KeyRange own;
  keys([&](uint64_t key) {
    if (key == 0) return;
    own.least = key < own.least ? key : own.least;
    own.most = key > own.most ? key : own.most;
  });
  const auto [least, most] = range_of_block<kThreads>(own, storage);
  int above = 64 - __clzll(static_cast<long long>(most ^ least));  // bits not decided yet
  uint64_t prefix = above == 64 ? 0 : most >> above;
  uint32_t left = k;
  while (above > 0) {
    const int below = above > kDigitBits ? above - kDigitBits : 0;
    for (int i = thread_id(); i < kBins; i += kThreads) storage.bins[i] = 0;
    __syncthreads();
    // What ends the loop if no digit is found, since another block has changed the keys of a slot that was named twice.
    if (thread_id() == 0) storage.digit = storage.left = storage.in_bin = 0;
    keys([&](uint64_t key) {
      if (key == 0 || (above < 64 && key >> above != prefix)) return;
      atomicAdd(&storage.bins[key >> below & ((1U << (above - below)) - 1)], 1U);
    });
    __syncthreads();
    if (warp_id() == 0) find_digit(storage, left);
    __syncthreads();
    prefix = (above == 64 ? 0 : prefix << (above - below)) | storage.digit;
    left = storage.left;
    above = below;
    if (storage.in_bin == left) break;  // the whole bin; a barrier comes before it is written again
  }
  return prefix << above;
}

// Sorts keys [0, padded) in falling order; padded is a power of two, at least 64. Pairs at most 32 apart belong to one
// warp, so most steps need no barrier of the block. (CUB's BlockRadixSort takes sixteen passes over 64-bit keys, with
// several barriers each, whatever their number; here 128 keys take 28 steps, 3 of them with a barrier.)
template <int kThreads>
__device__ void sort_falling(uint64_t* keys, int padded) {
  for (int size = 2; size <= padded; size *= 2) {
    for (int apart = size / 2; apart > 0; apart /= 2) {
      for (int pair = thread_id(); pair < padded / 2; pair += kThreads) {
        const int i = 2 * pair - (pair & (apart - 1)), j = i + apart;
        const bool falling = (i & size) == 0;
        const uint64_t a = keys[i], b = keys[j];
        if ((a < b) == falling) {
          keys[i] = b;
          keys[j] = a;
        }
      }
      const bool own = apart <= kWarp && (apart > 1 || size < kWarp * 2);
      if (own) {
        __syncwarp();
      } else {
        __syncthreads();
      }
    }
  }
}

}  // namespace sidbeam::cuda
