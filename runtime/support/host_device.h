// Marks functions that CUDA kernels share with the CPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SIDBEAM_HD __host__ __device__
#else
#define SIDBEAM_HD
#endif

// Of functions that the CPU's step calls per beam: gcc stops inlining them once they are called from several places.
#if defined(__CUDACC__)
#define SIDBEAM_HD_INLINE SIDBEAM_HD inline
#else
#define SIDBEAM_HD_INLINE __attribute__((always_inline)) inline
#endif

namespace sidbeam {

// std::clamp() by value: nvcc keeps what that refers to in local memory.
SIDBEAM_HD inline uint64_t clamped(uint64_t value, uint64_t low, uint64_t high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

}  // namespace sidbeam
