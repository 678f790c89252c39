// Turns elements of a row into x (conversion, soft-cap, inverse temperature), one at a time or 16 bytes at a time for
// any alignment of the row. The operations on f32 are those of the CPU (math-inl.h), in the same order, so the bits
// agree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "backend/rows.h"
#include "support/cuda/block.cuh"
#include "support/half.h"
#include "support/portable_math.h"

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
  const float far = 1.0F - 2.0F / (exp_in_range(clamped + clamped) + 1.0F);
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

// 16 bytes of a row.
template <int kDtype>
struct Chunk {
  static constexpr int kBytes = 16, kElementBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2,
                       kColumns = kBytes / kElementBytes, kColumnsOfWord = 4 / kElementBytes;
  // A word of columns that are all -inf.
  static constexpr uint32_t kNothing = kDtype == SIDBEAM_DTYPE_F32   ? 0xFF800000U
                                       : kDtype == SIDBEAM_DTYPE_F16 ? 0xFC00FC00U
                                                                     : 0xFF80FF80U;

  __device__ static uint4 nothing() { return {kNothing, kNothing, kNothing, kNothing}; }

  // The chunk at an address, of which `left` bytes belong to the row, element by element; -inf for the others.
  __device__ static uint4 by_element(const char* at, int32_t left) {
    uint4 chunk = nothing();
#pragma unroll 1
    for (int word = 0; word < 4; ++word) {
      uint32_t bits = 0;
#pragma unroll
      for (int i = 0; i < kColumnsOfWord; ++i) {
        const int32_t from = word * 4 + i * kElementBytes;
        bits |= (from < left ? element_bits(at + from) : kNothing >> (32 - 8 * kElementBytes))
                << (8 * kElementBytes * i) % 32;
      }
      chunk = {chunk.y, chunk.z, chunk.w, bits};  // in its place after four rounds
    }
    return chunk;
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

  __device__ static void unpack(const uint4& chunk, float* x) {
    const uint32_t v[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
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

 private:
  __device__ static uint32_t element_bits(const char* at) {
    if constexpr (kDtype == SIDBEAM_DTYPE_F32) return *reinterpret_cast<const uint32_t*>(at);
    return *reinterpret_cast<const uint16_t*>(at);
  }
};

// Reads 16 bytes of a row. Logits are read once, so they pass the L1 cache by; no kernel writes them while this one
// runs.
__device__ __forceinline__ void load(const char* at, uint4& chunk) {
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w)
               : "l"(at));
#else
  chunk = *reinterpret_cast<const uint4*>(at);
#endif
}

// Reads them if `there`, otherwise leaves `chunk` as it is: a predicated load, so that those of a tile can be in flight
// together. (A conditional expression waits for each load in order to select.)
__device__ __forceinline__ void load_if(bool there, const char* at, uint4& chunk) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n\t.reg .pred there;\n\tsetp.ne.u32 there, %5, 0;\n\t"
      "@there ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
      : "+r"(chunk.x), "+r"(chunk.y), "+r"(chunk.z), "+r"(chunk.w)
      : "l"(at), "r"(static_cast<uint32_t>(there)));
#else
  if (there) load(at, chunk);
#endif
}

// The chunks that a thread reads of a tile, all before the first is used.
inline constexpr int kChunksOfThread = 4;  // at least four loads in flight (tests/gpu/machine_code)

// Puts chunk 0 last. After kChunksOfThread turns every chunk has been first and is back in its place: a loop that need
// not be unrolled, where an index would put the chunks into local memory.
__device__ __forceinline__ void turn(uint4 (&chunks)[kChunksOfThread]) {
  const uint4 first = chunks[0];
#pragma unroll
  for (int c = 0; c + 1 < kChunksOfThread; ++c) chunks[c] = chunks[c + 1];
  chunks[kChunksOfThread - 1] = first;
}

// What a thread reads of a tile: kChunksOfThread chunks, kApart bytes from each other. A chunk can be read as words if
// it lies in the row and begins at a multiple of 16, or if the two aligned words that it lies in do. What shares a word
// with the row's surroundings is read by element, since others may be writing there, or nothing may be mapped.
template <int kDtype, bool kAligned, int kThreads>
struct Tile {
  static constexpr int kBytes = Chunk<kDtype>::kBytes, kApart = kThreads * kBytes;

  const char* at;  // of this thread's first chunk
  int32_t left;    // bytes of the row from there on; none or less: the thread has nothing to read
  bool first;      // the chunk is the row's first

  // `left` of a tile that begins `left` bytes before the row's end.
  __device__ static int32_t left_of_thread(int64_t left) {
    const auto most = static_cast<int32_t>(left < 2 * kChunksOfThread * kApart ? left : 2 * kChunksOfThread * kApart);
    return most - thread_id() * kBytes;
  }
  __device__ unsigned shift() const {
    return kAligned ? 0 : static_cast<unsigned>(reinterpret_cast<uintptr_t>(at) % kBytes);
  }
  // Bytes of the row that a chunk's words need, from the chunk's beginning on.
  __device__ int32_t needed() const { return kAligned ? kBytes : 2 * kBytes - static_cast<int32_t>(shift()); }
  __device__ bool is_whole(int c) const { return left >= c * kApart + needed() && (kAligned || c != 0 || !first); }
  __device__ bool is_part(int c) const { return left > c * kApart && !is_whole(c); }

  // Reads chunks that can all be read as words.
  __device__ __forceinline__ void read_whole(uint4 (&chunks)[kChunksOfThread]) const {
    read(chunks, [](int, const char* from, uint4& chunk) { load(from, chunk); });
  }
  // Reads any; -inf beyond the row.
  __device__ __forceinline__ void read_any(uint4 (&chunks)[kChunksOfThread]) const {
#pragma unroll
    for (uint4& chunk : chunks) chunk = Chunk<kDtype>::nothing();
    read(chunks, [this](int c, const char* from, uint4& chunk) { load_if(is_whole(c), from, chunk); });
    // Parts are few, so the loop is short; it is there once, with chunks that take turns.
#pragma unroll 1
    for (int c = 0; c < kChunksOfThread; ++c) {
      if (is_part(c)) chunks[0] = Chunk<kDtype>::by_element(at + c * kApart, left - c * kApart);
      turn(chunks);
    }
  }

 private:
  // Calls load(c, address, chunk) for each chunk, or for both of its words; no more than fit in registers beside them
  // before they are joined.
  template <class Load>
  __device__ __forceinline__ void read(uint4 (&chunks)[kChunksOfThread], const Load& load) const {
    constexpr int kAtATime = kAligned ? kChunksOfThread : kChunksOfThread / 2;
    const char* word = at - shift();
#pragma unroll
    for (int begin = 0; begin < kChunksOfThread; begin += kAtATime) {
      uint4 next[kAtATime];
#pragma unroll
      for (uint4& word_after : next) word_after = Chunk<kDtype>::nothing();
#pragma unroll
      for (int c = begin; c < begin + kAtATime; ++c) {
        load(c, word + c * kApart, chunks[c]);
        if constexpr (!kAligned) load(c, word + c * kApart + kBytes, next[c - begin]);
      }
#pragma unroll
      for (int c = begin; c < begin + kAtATime; ++c)
        if constexpr (!kAligned) chunks[c] = Chunk<kDtype>::joined(chunks[c], next[c - begin], shift());
    }
  }
};

}  // namespace sidbeam::cuda
