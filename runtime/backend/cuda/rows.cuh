// Turns elements of a row into x (conversion, soft-cap, inverse temperature), one at a time or 16 bytes at a time for
// any alignment of the row. The operations on f32 are those of the CPU (math-inl.h), in the same order, so the bits
// agree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "backend/cuda/block.cuh"
#include "backend/half.h"
#include "backend/rows.h"

namespace sidbeam::cuda {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Transform {
  float inverse_temperature = 1.0F, soft_cap = 0.0F;
  float origin = 0.0F;  // subtracted from x
  bool active = false;
};

struct LogitsRow {
  const void* data = nullptr;  // column 0
  int64_t columns = 0;
  int32_t dtype = 0;
  Transform transform;
};

// 2^f for |f| <= 1/2.
__device__ inline float exp2_near_zero(float f) {
  float p = __fmaf_rn(0x1.5b861ap-10F, f, 0x1.3d0decp-7F);
  p = __fmaf_rn(p, f, 0x1.c6b82p-5F);
  p = __fmaf_rn(p, f, 0x1.ebf90ep-3F);
  p = __fmaf_rn(p, f, 0x1.62e426p-1F);
  return __fmaf_rn(p, f, 1.0F);
}

// exp(x) for 0 <= x <= 64.
__device__ inline float exp_of_small(float x) {
  constexpr float kLog2E = 1.44269502162933349609F, kMagic = 12582912.0F + 127.0F;
  const float biased = __fmaf_rn(x, kLog2E, kMagic);
  const float p = exp2_near_zero(__fmaf_rn(x, kLog2E, -(biased - kMagic)));
  return p * __uint_as_float(__float_as_uint(biased) << 23);
}

__device__ inline float tanh_of(float y) {
  const float magnitude = fabsf(y), square = y * y;
  if (magnitude < 0.625F) {
    float p = __fmaf_rn(-5.70498872745E-3F, square, 2.06390887954E-2F);
    p = __fmaf_rn(p, square, -5.37397155531E-2F);
    p = __fmaf_rn(p, square, 1.33314422036E-1F);
    p = __fmaf_rn(p, square, -3.33332819422E-1F);
    return __fmaf_rn(p * square, y, y);
  }
  const float clamped = fminf(magnitude, 10.0F);
  const float far = 1.0F - 2.0F / (exp_of_small(clamped + clamped) + 1.0F);
  return copysignf(far, y);
}

__device__ inline float transformed(float v, const Transform& transform) {
  const float cap = transform.soft_cap;
  if (cap != 0.0F && v != -kInfinity && v == v)
    v = v == kInfinity ? std::numeric_limits<float>::quiet_NaN() : cap * tanh_of(v / cap);
  return v * transform.inverse_temperature - transform.origin;
}

__device__ inline float float_of_bits(uint32_t bits, int32_t dtype) {
  if (dtype == SIDBEAM_DTYPE_BF16) return __uint_as_float(bits << 16);
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(bits)));
  return value;
#else
  return float_of(F16{static_cast<uint16_t>(bits)});
#endif
}

// The x of a column. A column that the row lacks (because of a damaged or foreign map) is no candidate.
__device__ inline float x_at(const LogitsRow& row, int64_t column) {
  if (column < 0 || column >= row.columns) return -kInfinity;
  const float value = row.dtype == SIDBEAM_DTYPE_F32
                          ? static_cast<const float*>(row.data)[column]
                          : float_of_bits(static_cast<const uint16_t*>(row.data)[column], row.dtype);
  return row.transform.active ? transformed(value, row.transform) : value;
}

template <int kDtype>
struct Chunk {
  static constexpr int kBytes = 16, kElementBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2,
                       kColumns = kBytes / kElementBytes;

  // Elements [kColumns * chunk, ... + kColumns) of a row as floats; -inf beyond its end. An aligned word is read only
  // if all of it belongs to the row: others may be writing to the rest of the first or last word, or it may not be
  // mapped.
  __device__ static void load(const LogitsRow& row, int64_t chunk, float* x) {
    const char* begin = static_cast<const char*>(row.data);
    const char* end = begin + row.columns * kElementBytes;
    const char* from = begin + chunk * kBytes;
    const auto shift = static_cast<unsigned>(reinterpret_cast<uintptr_t>(begin) % kBytes);
    const char* aligned = from - shift;
    if (aligned >= begin && aligned + (shift == 0 ? kBytes : 2 * kBytes) <= end) {
      uint4 word = *reinterpret_cast<const uint4*>(aligned);
      if (shift != 0) word = joined(word, *reinterpret_cast<const uint4*>(aligned + kBytes), shift);
      unpack(word, x);
    } else {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) x[i] = element(row, chunk * kColumns + i);
    }
  }

 private:
  __device__ static float element(const LogitsRow& row, int64_t column) {
    if (column >= row.columns) return -kInfinity;
    if constexpr (kDtype == SIDBEAM_DTYPE_F32) {
      return static_cast<const float*>(row.data)[column];
    } else {
      return float_of_bits(static_cast<const uint16_t*>(row.data)[column], kDtype);
    }
  }

  // 16 bytes from byte `shift` on of two consecutive words. Works by halves, because an index unknown at compile time
  // would put the words into local memory.
  __device__ static uint4 joined(const uint4& low, const uint4& high, unsigned shift) {
    uint32_t v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) v[i] = (shift & 8) != 0 ? v[i + 2] : v[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) v[i] = (shift & 4) != 0 ? v[i + 1] : v[i];
    const unsigned bits = shift % 4 * 8;
    return {__funnelshift_r(v[0], v[1], bits), __funnelshift_r(v[1], v[2], bits), __funnelshift_r(v[2], v[3], bits),
            __funnelshift_r(v[3], v[4], bits)};
  }

  __device__ static void unpack(const uint4& word, float* x) {
    const uint32_t v[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kDtype == SIDBEAM_DTYPE_F32) {
        x[i] = __uint_as_float(v[i]);
      } else {
        x[2 * i] = float_of_bits(v[i] & 0xFFFFU, kDtype);
        x[2 * i + 1] = float_of_bits(v[i] >> 16, kDtype);
      }
    }
  }
};

}  // namespace sidbeam::cuda
