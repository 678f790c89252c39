// Top-k and top-p of a row, by one block. What is kept are the elements whose key is at least that of the last one:
// keys rise with x and fall with the position, so they differ, and ties need no pass of their own. The key is found by
// digits, as in select.cuh, by counts for top-k and by integer weights for top-p, so that the result is that of
// backend/truncation.h whatever the order of additions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/draw.cuh"
#include "backend/cuda/row_scan.cuh"
#include "backend/truncation.h"

namespace sidbeam::cuda {

// What the first pass over a row sees.
struct Seen {
  float largest = -kInfinity;  // +inf where an element is bad
  uint32_t finite = 0;
};
struct JoinSeen {
  __device__ Seen operator()(const Seen& a, const Seen& b) const {
    return {a.largest > b.largest ? a.largest : b.largest, a.finite + b.finite};
  }
};

// Masses of bins: the low halves are SelectStorage's bins.
struct MassStorage {
  uint32_t high[kBins];
  uint64_t left, in_bin;
};

template <int kThreads>
struct TruncationShared {
  MassStorage masses;
  typename BlockFold<Seen, kThreads>::Storage seen;
  typename BlockFold<uint64_t, kThreads>::Storage mass;
};

// Finds the digit at which the masses of the bins, from the top, reach `left`; called by the first warp.
__device__ inline void find_mass_digit(SelectStorage& select, MassStorage& masses, uint64_t left) {
  constexpr int kOfLane = kBins / kWarp;
  const int top = kBins - 1 - lane_id() * kOfLane;  // lane 0 has the largest digits
  const auto mass = [&](int bin) { return uint64_t{masses.high[bin]} << 32 | select.bins[bin]; };
  uint64_t sum = 0;
  for (int i = 0; i < kOfLane; ++i) sum += mass(top - i);
  const uint64_t through = warp_sum_through(sum);
  uint64_t before = through - sum;
  if (before >= left || through < left) return;
  for (int i = 0; i < kOfLane; ++i) {
    const uint64_t here = mass(top - i);
    if (before + here >= left) {
      select.digit = static_cast<uint32_t>(top - i);
      masses.left = left - before;
      masses.in_bin = here;
      return;
    }
    before += here;
  }
}

// Adds to a sum of 64 bits in two halves: shared memory has no native addition of 64 bits, and its compare-and-swap
// loop would make threads wait for each other.
__device__ inline void add_mass(SelectStorage& select, MassStorage& masses, uint32_t bin, uint64_t mass) {
  const auto low = static_cast<uint32_t>(mass);
  const uint32_t before = atomicAdd(&select.bins[bin], low);
  const uint32_t high = static_cast<uint32_t>(mass >> 32) + (before + low < before ? 1 : 0);
  if (high != 0) atomicAdd(&masses.high[bin], high);
}

// The least key of the largest ones whose masses add up to `goal`, which is at least 1 and at most the mass of all keys
// that are not 0; or a lower bound that no further key reaches. `keys(visit)` is as in select_bound().
template <int kThreads, class Keys, class Mass>
__device__ __forceinline__ uint64_t least_kept(const Keys& keys, const Mass& mass, uint64_t goal, SelectStorage& select,
                                               MassStorage& masses) {
  __syncthreads();  // the previous call may still be reading the storage
  KeyRange own;
  keys([&](uint64_t key) { own.add(key); });
  const KeyRange range = range_of_block<kThreads>(own, select);
  int above = 64 - __clzll(static_cast<long long>(range.most ^ range.least));  // bits not decided yet
  uint64_t prefix = above == 64 ? 0 : range.most >> above, left = goal;
#pragma unroll 1
  while (above > 0) {
    const int below = above > kDigitBits ? above - kDigitBits : 0;
    for (int i = thread_id(); i < kBins; i += kThreads) select.bins[i] = masses.high[i] = 0;
    if (thread_id() == 0) {  // what ends the loop if the row changes meanwhile
      select.digit = 0;
      masses.left = masses.in_bin = 0;
    }
    __syncthreads();
    keys([&](uint64_t key) {
      if (key == 0 || (above < 64 && key >> above != prefix)) return;
      add_mass(select, masses, static_cast<uint32_t>(key >> below & ((1U << (above - below)) - 1)), mass(key));
    });
    __syncthreads();
    if (warp_id() == 0) find_mass_digit(select, masses, left);
    __syncthreads();
    prefix = (above == 64 ? 0 : prefix << (above - below)) | select.digit;
    left = masses.left;
    above = below;
    const bool whole = masses.in_bin == left;
    __syncthreads();  // before the storage is written again
    if (whole) break;
  }
  return prefix << above;
}

// What truncation keeps of a row.
struct Kept {
  bool all = true;
  bool over_level = false;  // positions are codes, otherwise columns
  uint64_t least = 0;       // of the keys that are kept

  __device__ bool keeps(const BeamRow& beam, uint32_t codes, uint32_t token, float x) const {
    if (all) return true;
    const int64_t position = over_level ? int64_t{token} : beam.column_of(token, codes);
    return code_key(x, static_cast<uint32_t>(position)) >= least;
  }
};

// Sees the elements [0, n) for the first time, and holds the contiguous ones in shared memory if there is room.
template <int kThreads, class X>
__device__ __forceinline__ Seen see_row(const X& x, int64_t n, int64_t first, int64_t contiguous, int64_t room,
                                        RowShared<kThreads>& row, TruncationShared<kThreads>& shared) {
  const bool holds = contiguous > 0 && contiguous <= room;
  float* held = row.held;  // of more elements than its type says
  Seen own;
  for (int64_t at = thread_id(); at < n; at += kThreads) {
    const float value = x(at);
    if (!(value <= own.largest)) own.largest = value == value ? value : kInfinity;
    own.finite += value > -kInfinity ? 1 : 0;
    if (holds && at < contiguous) held[at] = value;
  }
  const Seen seen = BlockFold<Seen, kThreads>::all(own, JoinSeen(), shared.seen);
  if (holds && thread_id() == 0) {
    row.beam.held = row.held;
    row.beam.held_first = first;
    row.beam.held_count = contiguous;
  }
  __syncthreads();
  return seen;
}

// Truncates the row of row.beam: all of its columns or, with NORMALIZE_LEVEL, the codes of the level and the end. What
// is kept is its normaliser.
template <int kThreads>
__device__ __forceinline__ RowOutcome truncate_row(const Truncation& truncation, int32_t normalization, int64_t room,
                                                   RowShared<kThreads>& row, TruncationShared<kThreads>& shared,
                                                   RowScore& score, Kept& kept) {
  const BeamRow& beam = row.beam;
  const uint32_t codes = row.children.codes;
  const bool over_level = normalization == SIDBEAM_NORMALIZE_LEVEL;
  const int64_t inner = over_level ? int64_t{codes} : beam.row.columns, n = inner + (over_level && row.children.ends);
  const auto x = [&](int64_t at) {
    return over_level ? beam.x(static_cast<uint32_t>(at), codes) : beam.x_of_column(at);
  };
  const Seen seen = see_row<kThreads>(x, n, over_level ? beam.columns.offset : 0,
                                      over_level && beam.columns.map != nullptr ? 0 : inner, room, row, shared);
  const RowOutcome outcome = outcome_of_largest(seen.largest);
  if (outcome != RowOutcome::kReady) return outcome;
  const auto keys = [&](const auto& visit) {
    for (int64_t at = thread_id(); at < n; at += kThreads) visit(code_key(x(at), static_cast<uint32_t>(at)));
  };
  const auto weight = [&](uint64_t key) { return weight_of(score_of_key(key), seen.largest); };
  uint64_t least = 1;
  uint64_t mass = 0;
  const bool by_count = truncation.top_k > 0 && static_cast<uint32_t>(truncation.top_k) < seen.finite;
#pragma unroll 1
  for (int by_mass = 0; by_mass < 2; ++by_mass) {  // a loop, so that the search is there once
    const bool wanted = by_mass != 0 ? truncation.top_p < 1.0F : by_count;
    const uint64_t goal = by_mass != 0 ? mass_goal(mass, truncation.top_p) : static_cast<uint64_t>(truncation.top_k);
    const auto measure = [&](uint64_t key) { return by_mass != 0 ? weight(key) : uint64_t{1}; };
    if (wanted) least = least_kept<kThreads>(keys, measure, goal, row.select, shared.masses);
    if (!wanted && by_mass != 0) break;
    uint64_t own = 0;
    keys([&](uint64_t key) { own += key >= least ? weight(key) : 0; });
    mass = BlockFold<uint64_t, kThreads>::all(own, Add(), shared.mass);
  }
  if (thread_id() == 0) kept = {false, over_level, least};
  score.normalizer = log_of_weights(mass, seen.largest);
  score.clamp = true;
  return RowOutcome::kReady;
}

}  // namespace sidbeam::cuda
