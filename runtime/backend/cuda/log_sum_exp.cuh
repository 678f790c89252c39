// The sum of exp over a row, computed by one block in one read.
//
// Every thread sums its columns relative to its own power of two, 2^exponent with exponent = round(L * the largest x so
// far), so that no barrier is needed before the end. Changing the exponent is exact. A term is ex2(fma(x, L,
// -exponent)). Which thread sums which column depends only on the number of columns, the dtype and the number of
// threads, and so do the bits of the sum.
//
// Worst-case error, relative to the whole sum:
//   argument   one rounding: 2^-25 ln 2 below an argument of 1, doubling with it. A thread's largest term has
//              |argument| <= 1/2. 2^24 columns on 256 threads are 65536 per thread: all below -8 they weigh 256 times
//              the largest with 2^-21 ln 2 each, and all below -16, with twice that, as much as it: at most 3.4e-7.
//   ex2.approx 2^-22 = 2.4e-7 by the PTX manuals (some say 2^-22.5). CUDA's guide gives 2 ulp for exp2f, which is built
//              on it: the same. Underflow is flushed to 0: 65536 terms below 2^-126 of the largest do not matter.
//   sum        trees of 8 terms in f32: 3 * 2^-24 = 1.8e-7; then in double.
//   L          the float nearest log2(e), 1.3e-8 below it: every exp(x) comes out as exp(x - kDeficit * x), which one
//              multiplication corrects as on the CPU (log_sum_exp-inl.h): 1.2e-7 are left.
// Together 8.8e-7 (kBound), within the 1e-6 that README.md promises, which would still hold if ex2.approx were wrong by
// 3 ulp. The emulator's exp2 is not the device's; tests/gpu/log_sum_exp.cc measures the error on a device.
//
// If |largest x| of a row passes 2^20, L * x is too coarse to choose an integer power of two. Such a row is read again
// relative to its maximum. Very low masked elements (-1e9) alone do not make a row such a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/rows.cuh"
#include "backend/partial_sum.h"
#include "support/cuda/block_fold.cuh"

namespace sidbeam::cuda {

inline constexpr double kDeficit = 1.3349758171622139e-8;
inline constexpr float kHuge = 1048576.0F;
inline constexpr int kColumnsOfTree = 8;                                   // summed in f32
inline constexpr double kBound = 3.4e-7 + 0x1p-22 + 3 * 0x1p-24 + 1.2e-7;  // as above
static_assert(kBound <= 1e-6);

// 2^octaves for octaves <= 0; 0 below -1022.
__device__ inline double power_of_two(int octaves) {
  return octaves < -1022 ? 0.0 : __longlong_as_double(static_cast<long long>(1023 + octaves) << 52);
}

__device__ inline float exp2_approximate(float x) {
#if defined(__CUDA_ARCH__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}

// round(L * x), clamped so that it fits an int for any x.
__device__ inline int octaves_of(float x) { return static_cast<int>(rintf(fminf(fmaxf(x, -kHuge), kHuge) * kLog2E)); }

// What a thread or a block has summed: the exp(x) add up to sum * 2^octaves_of(largest).
struct Terms {
  double sum = 0.0;
  float largest = -kInfinity;  // ignores NaN, which makes the sum NaN
  uint32_t count = 0;          // of terms added by add_alone()

  __device__ void raise(float x) {
    sum *= power_of_two(octaves_of(largest) - octaves_of(x));
    largest = x;
  }
  __device__ float term(float x, float minus_octaves) const {
    return exp2_approximate(__fmaf_rn(x, kLog2E, minus_octaves));
  }
  __device__ void add(const float (&x)[kColumnsOfTree]) {
    float top = x[0];
#pragma unroll
    for (int i = 1; i < kColumnsOfTree; ++i) top = fmaxf(top, x[i]);
    if (top > largest) raise(top);
    const auto minus_octaves = static_cast<float>(-octaves_of(largest));
    float p[kColumnsOfTree];
#pragma unroll
    for (int i = 0; i < kColumnsOfTree; ++i) p[i] = term(x[i], minus_octaves);
    sum += static_cast<double>(((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])));
  }
  // Adds an x that may belong to another thread in another step. It is rounded relative to itself, so that the order of
  // summation does not show in an f32.
  __device__ void add_alone(float x) {
    if (x > largest) raise(x);
    const int octaves = octaves_of(x);
    const double scale = power_of_two(octaves - octaves_of(largest));
    sum += static_cast<double>(term(x, static_cast<float>(-octaves))) * scale;
    count += x > -kInfinity ? 1 : 0;
  }
};

struct JoinTerms {
  __device__ Terms operator()(const Terms& a, const Terms& b) const {
    Terms low = a.largest < b.largest ? a : b, high = a.largest < b.largest ? b : a;
    low.raise(high.largest);
    high.sum += low.sum;
    high.count += low.count;
    return high;
  }
};

// Whether the row must be summed again relative to its largest x. The sum is then meaningless, even if it is NaN.
__device__ inline bool is_far(const Terms& terms) {
  return terms.largest < kInfinity && terms.largest > -kInfinity && !(fabsf(terms.largest) <= kHuge);
}

__device__ inline PartialSum partial_sum(const Terms& terms, int64_t n, float base) {
  if (terms.largest == kInfinity || terms.sum != terms.sum) return {0.0F, 0, std::numeric_limits<double>::quiet_NaN()};
  if (terms.sum == 0.0) return {};
  const int exponent = octaves_of(terms.largest);
  const int width = 64 - __clzll(static_cast<long long>(n));
  const double octaves = exponent + exponent_of(terms.sum) + 0.5 - 0.5 * width;
  const double z = kDeficit * kLn2 * octaves;
  return {base, exponent, terms.sum * (1.0 + z * (1.0 + z * (0.5 + z * (1.0 / 6.0))))};
}

// Adds the columns of a thread's first chunks, as many as make a tree and kApart columns from each other; `left` is the
// number of the row's columns from the first on. Stores their x in `held` if that is given.
template <int kDtype, bool kSoftCap, int kApart>
__device__ __forceinline__ void add_tree(const Transform& transform, const uint4* chunks, int32_t left, float* held,
                                         Terms& terms) {
  constexpr int kPer = Chunk<kDtype>::kColumns;
  float x[kColumnsOfTree];
#pragma unroll
  for (int c = 0; c < kColumnsOfTree / kPer; ++c) Chunk<kDtype>::unpack(chunks[c], x + c * kPer);
  if constexpr (kSoftCap) {
#pragma unroll
    for (float& value : x) value = transformed(value, transform);
  } else if (transform.active) {
#pragma unroll
    for (float& value : x) value = value * transform.inverse_temperature - transform.origin;
  }
  if (held != nullptr) {
#pragma unroll
    for (int i = 0; i < kColumnsOfTree; ++i) {
      const int at = i / kPer * kApart + i % kPer;
      if (at < left) held[at] = x[i];
    }
  }
  terms.add(x);
}

// Sums the columns of this thread, and stores the row's x in `held` if that is given. With a soft-cap the trees are
// taken one after the other, because the code of all tanh side by side would be long.
template <int kDtype, bool kAligned, int kThreads>
__device__ __forceinline__ Terms sum_row_of(const LogitsRow& row, float* held) {
  using Reader = Tile<kDtype, kAligned, kThreads>;
  constexpr int kPer = Chunk<kDtype>::kColumns, kChunksOfTree = kColumnsOfTree / kPer;
  constexpr int kElementBytes = Chunk<kDtype>::kElementBytes, kApart = kThreads * kPer;
  constexpr int kTileBytes = Reader::kApart * kChunksOfThread;
  const Transform transform = row.transform;
  const char* at = static_cast<const char*>(row.data) + thread_id() * Reader::kBytes;
  if (held != nullptr) held += thread_id() * kPer;
  bool first = thread_id() == 0, later = false;
  Terms terms;
#pragma unroll 1
  for (int64_t bytes = row.columns * kElementBytes; bytes > 0; bytes -= kTileBytes) {
    const Reader tile{at, Reader::left_of_thread(bytes), first};
    uint4 chunks[kChunksOfThread];
    if ((kAligned || later) && bytes >= kTileBytes + (kAligned ? 0 : Reader::kBytes)) {
      tile.read_whole(chunks);
    } else {
      tile.read_any(chunks);
    }
    const auto has_tree = [&](int c) { return c * Reader::kApart < bytes; };  // of any thread
    const int32_t left = tile.left / kElementBytes;
    if (transform.soft_cap == 0.0F) {
#pragma unroll
      for (int c = 0; c < kChunksOfThread; c += kChunksOfTree)
        if (has_tree(c))
          add_tree<kDtype, false, kApart>(transform, chunks + c, left - c * kApart,
                                          held != nullptr ? held + c * kApart : nullptr, terms);
    } else {
#pragma unroll 1
      for (int c = 0; c < kChunksOfThread && has_tree(c); c += kChunksOfTree) {
        add_tree<kDtype, true, kApart>(transform, chunks, left - c * kApart,
                                       held != nullptr ? held + c * kApart : nullptr, terms);
#pragma unroll
        for (int i = 0; i < kChunksOfTree; ++i) turn(chunks);
      }
    }
    at += kTileBytes;
    if (held != nullptr) held += kTileBytes / kElementBytes;
    first = false;
    later = true;
  }
  return terms;
}

template <int kDtype, int kThreads>
__device__ __forceinline__ Terms sum_row_of(const LogitsRow& row, float* held) {
  return reinterpret_cast<uintptr_t>(row.data) % Chunk<kDtype>::kBytes == 0
             ? sum_row_of<kDtype, true, kThreads>(row, held)
             : sum_row_of<kDtype, false, kThreads>(row, held);
}

template <int kThreads>
__device__ __forceinline__ Terms sum_row(const LogitsRow& row, float* held) {
  if (row.dtype == SIDBEAM_DTYPE_F32) return sum_row_of<SIDBEAM_DTYPE_F32, kThreads>(row, held);
  if (row.dtype == SIDBEAM_DTYPE_F16) return sum_row_of<SIDBEAM_DTYPE_F16, kThreads>(row, held);
  return sum_row_of<SIDBEAM_DTYPE_BF16, kThreads>(row, held);
}

// The sum of exp over the n terms (0: as many as add_alone() added) that `sum(origin)` sums relative to an origin.
// Called by all threads, and returned to all of them.
template <int kThreads, class Sum>
__device__ __forceinline__ PartialSum block_sum_exp(int64_t n, const Sum& sum,
                                                    typename BlockFold<Terms, kThreads>::Storage& storage) {
  float origin = 0.0F;
#pragma unroll 1
  for (;;) {  // at most twice: `sum` is long and should be there once
    const Terms terms = BlockFold<Terms, kThreads>::all(sum(origin), JoinTerms(), storage);
    if (origin != 0.0F || !is_far(terms)) return partial_sum(terms, n > 0 ? n : terms.count, origin);
    origin = terms.largest;
  }
}

}  // namespace sidbeam::cuda
