// The k-th largest of many different 64-bit keys, and sorting few of them, by one block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/block.cuh"

namespace sidbeam::cuda {

inline constexpr int kDigitBits = 8, kBins = 1 << kDigitBits, kMostWarps = 16;

// What a thread's keys that are not 0, or a block's, have in common. (There is no native minimum of 64 bits in shared
// memory: atomicMin() is a loop of compare-and-swap there.)
struct KeyRange {
  uint64_t least = ~uint64_t{0}, most = 0;
  uint64_t least_of_most = 0;  // of a block's threads: each has a key that is no less
  uint32_t count = 0;

  __device__ void add(uint64_t key) {
    if (key == 0) return;
    least = key < least ? key : least;
    most = key > most ? key : most;
    ++count;
  }
};
struct SelectStorage {
  KeyRange of_warp[kMostWarps];
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

template <int kThreads>
__device__ KeyRange range_of_block(const KeyRange& own, SelectStorage& storage) {
  static_assert(kThreads / kWarp <= kMostWarps);
  const uint64_t least = ~warp_max(~own.least), most = warp_max(own.most), least_of_most = ~warp_max(~own.most);
  const uint32_t count = __reduce_add_sync(kAllLanes, own.count);
  if (lane_id() == 0) storage.of_warp[warp_id()] = {least, most, least_of_most, count};
  __syncthreads();
  KeyRange all;
  all.least_of_most = ~uint64_t{0};
  for (int w = 0; w < kThreads / kWarp; ++w) {
    const KeyRange& one = storage.of_warp[w];
    all.least = one.least < all.least ? one.least : all.least;
    all.most = one.most > all.most ? one.most : all.most;
    all.least_of_most = one.least_of_most < all.least_of_most ? one.least_of_most : all.least_of_most;
    all.count += one.count;
  }
  return all;
}

// A bound that the k largest keys reach and, together, at most `most` (at least k) of those that are not 0; 1 if there
// are no more than k. `keys(visit)` calls visit(key) for this thread's keys, the same ones every time, as many times as
// a digit must be read: the keys between two bounds are counted by 256 parts of the range, which the part with the k-th
// largest then is. The range begins where k keys are known to be: every thread's largest reaches the least of these, if
// there are k threads.
template <int kThreads, class Keys>
__device__ __forceinline__ uint64_t select_bound(const Keys& keys, uint32_t k, uint32_t most, SelectStorage& storage) {
  __syncthreads();  // the previous call may still be reading the storage
  KeyRange own;
  keys([&](uint64_t key) { own.add(key); });
  const KeyRange range = range_of_block<kThreads>(own, storage);
  if (range.count <= k) return 1;
  uint64_t low = k <= kThreads && range.least_of_most > 0 ? range.least_of_most : range.least, high = range.most;
  uint32_t above = 0;  // keys that are larger than `high`
  for (;;) {
    const int bits = 64 - __clzll(static_cast<long long>(high - low));
    const int shift = bits > kDigitBits ? bits - kDigitBits : 0;
    for (int i = thread_id(); i < kBins; i += kThreads) storage.bins[i] = 0;
    __syncthreads();
    // What ends the loop if no digit is found, since another block has changed the keys of a slot that was named twice.
    if (thread_id() == 0) storage.digit = storage.left = storage.in_bin = 0;
    keys([&](uint64_t key) {
      if (key >= low && key <= high) atomicAdd(&storage.bins[(key - low) >> shift], 1U);
    });
    __syncthreads();
    if (warp_id() == 0) find_digit(storage, k - above);
    __syncthreads();
    above = k - storage.left;
    low += uint64_t{storage.digit} << shift;
    high = std::min(high, low + ((uint64_t{1} << shift) - 1));
    if (above + storage.in_bin <= most || shift == 0)
      return low;  // a barrier comes before the storage is written again
  }
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
