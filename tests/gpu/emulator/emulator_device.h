// The language of kernels: qualifiers, the place of a thread, barriers, warp operations, atomics, intrinsics. Every
// CUDA thread is a fiber, which is suspended at barriers and warp operations. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "emulator_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __grid_constant__
#define __align__(n) alignas(n)

struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

namespace emulator {

struct Place {
  uint3 thread, block;
  dim3 threads, blocks;
};
extern SIDBEAM_EMULATOR_API const Place* place;  // of the thread that runs

enum class Combine { kOr, kAnd, kCount };
SIDBEAM_EMULATOR_API int barrier(const char* file, int line, Combine combine, int value);
// Waits for the lanes of the mask; returns their values, by lane.
SIDBEAM_EMULATOR_API const uint64_t* exchange(const char* file, int line, uint32_t mask, uint64_t value);
SIDBEAM_EMULATOR_API void* shared_memory();
SIDBEAM_EMULATOR_API uint32_t lane();

template <class T>
uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T value_of(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// From lane `source`, or the own value where that is outside the segment.
template <class T>
T shuffle(const char* file, int line, uint32_t mask, T value, int source, int width, bool inside) {
  const uint64_t* values = exchange(file, line, mask, bits_of(value));
  (void)width;
  return inside ? value_of<T>(values[source]) : value;
}
template <class T, class Fold>
T reduce(const char* file, int line, uint32_t mask, T value, const Fold& fold) {
  const uint64_t* values = exchange(file, line, mask, bits_of(value));
  bool begun = false;
  T result = value;
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    result = begun ? fold(result, value_of<T>(values[i])) : value_of<T>(values[i]);
    begun = true;
  }
  return result;
}
inline uint32_t ballot(const char* file, int line, uint32_t mask, bool value) {
  const uint64_t* values = exchange(file, line, mask, value ? 1 : 0);
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i)
    if ((mask >> i & 1) != 0 && values[i] != 0) result |= 1U << i;
  return result;
}

}  // namespace emulator

// Numbers of the thread that runs. (Macros would also hit cudaLaunchConfig_t's fields.)
#define EMULATED_AXIS(name, field, axis)                    \
  struct name {                                             \
    operator unsigned() const { return place->field.axis; } \
  }
#define EMULATED_AXES(variable, field) \
  inline const struct {                \
    EMULATED_AXIS(X, field, x) x;      \
    EMULATED_AXIS(Y, field, y) y;      \
    EMULATED_AXIS(Z, field, z) z;      \
  } variable
namespace emulator {
EMULATED_AXES(thread_index, thread);
EMULATED_AXES(block_index, block);
EMULATED_AXES(block_size, threads);
EMULATED_AXES(grid_size, blocks);
}  // namespace emulator
inline const auto& threadIdx = emulator::thread_index;
inline const auto& blockIdx = emulator::block_index;
inline const auto& blockDim = emulator::block_size;
inline const auto& gridDim = emulator::grid_size;

#define __syncthreads() ((void)emulator::barrier(__FILE__, __LINE__, emulator::Combine::kOr, 0))
#define __syncthreads_or(v) emulator::barrier(__FILE__, __LINE__, emulator::Combine::kOr, (v) ? 1 : 0)
#define __syncthreads_and(v) emulator::barrier(__FILE__, __LINE__, emulator::Combine::kAnd, (v) ? 1 : 0)
#define __syncthreads_count(v) emulator::barrier(__FILE__, __LINE__, emulator::Combine::kCount, (v) ? 1 : 0)
#define EMULATED_WARP __FILE__, __LINE__
#define __syncwarp(...) ((void)emulator::exchange(EMULATED_WARP, 0xFFFFFFFFU, 0))
#define __ballot_sync(mask, v) emulator::ballot(EMULATED_WARP, mask, (v) != 0)
#define __any_sync(mask, v) (emulator::ballot(EMULATED_WARP, mask, (v) != 0) != 0)
#define __all_sync(mask, v) (emulator::ballot(EMULATED_WARP, mask, (v) == 0) == 0)
#define __shfl_sync(mask, v, from) emulator::shuffle(EMULATED_WARP, mask, v, (from)&31, 32, true)
#define __shfl_down_sync(mask, v, n) \
  emulator::shuffle(EMULATED_WARP, mask, v, int(emulator::lane()) + int(n), 32, emulator::lane() + (n) < 32)
#define __shfl_up_sync(mask, v, n) \
  emulator::shuffle(EMULATED_WARP, mask, v, int(emulator::lane()) - int(n), 32, emulator::lane() >= unsigned(n))
#define __shfl_xor_sync(mask, v, n) \
  emulator::shuffle(EMULATED_WARP, mask, v, int(emulator::lane() ^ unsigned(n)), 32, true)
#define __reduce_max_sync(mask, v) \
  emulator::reduce(EMULATED_WARP, mask, v, [](auto a, auto b) { return a > b ? a : b; })
#define __reduce_min_sync(mask, v) \
  emulator::reduce(EMULATED_WARP, mask, v, [](auto a, auto b) { return a < b ? a : b; })
#define __reduce_add_sync(mask, v) emulator::reduce(EMULATED_WARP, mask, v, [](auto a, auto b) { return a + b; })
#define __reduce_or_sync(mask, v) emulator::reduce(EMULATED_WARP, mask, v, [](auto a, auto b) { return a | b; })

// Fibers change only at barriers, so atomics need not be atomic.
template <class T, class U>
T atomicAdd(T* at, U value) {
  const T before = *at;
  *at = before + static_cast<T>(value);
  return before;
}
template <class T, class U>
T atomicMax(T* at, U value) {
  const T before = *at;
  if (static_cast<T>(value) > before) *at = static_cast<T>(value);
  return before;
}
template <class T, class U>
T atomicMin(T* at, U value) {
  const T before = *at;
  if (static_cast<T>(value) < before) *at = static_cast<T>(value);
  return before;
}
template <class T, class U>
T atomicOr(T* at, U value) {
  const T before = *at;
  *at = before | static_cast<T>(value);
  return before;
}
template <class T, class U>
T atomicExch(T* at, U value) {
  const T before = *at;
  *at = static_cast<T>(value);
  return before;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return v == 0 ? 0 : std::countr_zero(static_cast<unsigned>(v)) + 1; }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (bits & 31));
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return *at;
}
