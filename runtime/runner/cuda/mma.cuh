// Tensor cores: products of 16x16 by 16x8 of 16-bit floats, the loads that lay out their operands, and copies to shared
// memory that run beside them. Functions are called by all lanes of a warp. The emulator has each of them.
//
// Of lane l, with group g = l / 4 and t = l % 4:
//   A (16x16): a[0] holds row g, columns 2t and 2t+1; a[1] row g+8; a[2] and a[3] the same of columns 8 more
//   B (16x8):  b[0] holds column g, rows 2t and 2t+1; b[1] rows 8 more
//   C (16x8):  c[0], c[1] are row g, columns 2t and 2t+1; c[2], c[3] row g+8
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "support/half.h"

#if !defined(SIDBEAM_EMULATED)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace sidbeam::runner::cuda {

template <class T>
inline constexpr bool kIsBf16 = false;
template <>
inline constexpr bool kIsBf16<Bf16> = true;

// Two floats rounded to nearest, the first in the low half.
template <class T>
__device__ __forceinline__ uint32_t pack_pair(float low, float high) {
#if defined(SIDBEAM_EMULATED)
  return emulator::pack_pair<kIsBf16<T>>(low, high);
#else
  uint32_t bits = 0;
  if constexpr (kIsBf16<T>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  }
  return bits;
#endif
}

// One float in the type of an array.
template <class T>
__device__ __forceinline__ T narrowed(float value) {
  return T{static_cast<uint16_t>(pack_pair<T>(value, 0.0F) & 0xFFFFU)};
}
template <>
__device__ __forceinline__ float narrowed<float>(float value) {
  return value;
}

// c += a * b
template <class T>
__device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if defined(SIDBEAM_EMULATED)
  emulator::multiply_16x8x16<kIsBf16<T>>(c, a, b0, b1);
#else
  if constexpr (kIsBf16<T>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

// Four 8x8 matrices from shared memory; lane 8i+r gives the address of row r of matrix i, 16 bytes, aligned. A lane
// gets two neighbours of row l/4 of each, or, transposed, of column l/4.
__device__ __forceinline__ void load_matrices(uint32_t (&out)[4], const void* row) {
#if defined(SIDBEAM_EMULATED)
  emulator::load_matrices<false>(out, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row))));
#endif
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&out)[4], const void* row) {
#if defined(SIDBEAM_EMULATED)
  emulator::load_matrices<true>(out, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row))));
#endif
}

// Copies of 16 bytes from global to shared memory, both aligned, which a thread starts and later waits for. The
// emulator does them as late as that allows.
#if defined(SIDBEAM_EMULATED)
using AsyncCopies = emulator::AsyncCopies;
#else
struct AsyncCopies {
  // Zeros where it is not real; `from` is an address that may be read either way.
  __device__ __forceinline__ void add(void* to, const void* from, bool real) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
        "l"(__cvta_generic_to_global(from)), "r"(real ? 16 : 0)
        : "memory");
  }
  // Those added since the last commit are a group.
  __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  // Until at most so many groups are not done.
  template <int kGroups>
  __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
  }
};
#endif

}  // namespace sidbeam::runner::cuda
