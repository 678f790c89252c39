// The parts of XXH3 that take time. One file per instruction set includes this and is compiled for it. xxHash's own
// dispatcher (xxh_x86dispatch) is not packaged, and would decide at every call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/cpu_target.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace sidbeam {

struct HashKernels {
  CpuTarget target;  // the target they are compiled for
  uint64_t (*hash_64)(const void*, size_t);
  uint64_t (*hash_seeded_64)(const void*, size_t, uint64_t seed);
  void (*hash_rows_64)(const uint32_t* columns, size_t words, size_t stride, size_t count, uint64_t seed,
                       uint64_t* out);
  XXH128_hash_t (*hash_128)(const void*, size_t);
  void (*update_128)(XXH3_state_t*, const void*, size_t);
};

// Use only if the machine has the target.
extern const HashKernels kAvx2HashKernels, kAvx512HashKernels;

const HashKernels& hash_kernels(CpuTarget target);

namespace {

uint64_t hash_64(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }
uint64_t hash_seeded_64(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}
XXH128_hash_t hash_128(const void* data, size_t bytes) { return XXH3_128bits(data, bytes); }
void update_128(XXH3_state_t* state, const void* data, size_t bytes) { XXH3_128bits_update(state, data, bytes); }

// XXH3-64 of many short rows (17 to 128 bytes) at once, which xxHash does not offer. Handles twice as many rows as
// lanes: even and odd rows separately, since the multiplication reads only the lower halves of lanes.
#ifdef __AVX2__
#ifdef __AVX512F__
using Lanes = uint64_t __attribute__((vector_size(64)));
inline Lanes multiply(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
inline Lanes lower_in_turns(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
inline Lanes upper_in_turns(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
#else
using Lanes = uint64_t __attribute__((vector_size(32)));
inline Lanes multiply(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
inline Lanes lower_in_turns(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline Lanes upper_in_turns(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#endif
constexpr size_t kRows = sizeof(Lanes) / sizeof(uint32_t);

// XXH3_mix16B of words in the lower halves: folds the two halves of the 128-bit product of ba and dc.
inline Lanes mix_four(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ac = multiply(a, c), bc = multiply(b, c);
  const Lanes middle = (ac >> 32) + (bc & 0xffffffff) + multiply(a, d);
  return ((bc >> 32) + (middle >> 32) + multiply(b, d)) ^ (middle << 32 | (ac & 0xffffffff));
}

inline Lanes avalanche(Lanes sum) {
  sum = (sum ^ sum >> 37) * 0x165667919E3779F9;
  return sum ^ sum >> 32;
}

// Loads through the type: memcpy goes through the stack and stalls where the value was stored in halves.
inline Lanes load_words(const uint32_t* from, uint64_t secret) {
  using Unaligned __attribute__((aligned(4), may_alias)) = Lanes;
  return *reinterpret_cast<const Unaligned*>(from) ^ (secret & 0xffffffff) * 0x100000001;
}

inline void add_four(const uint32_t* columns, size_t stride, const xxh_u8* secret, uint64_t seed, Lanes& even,
                     Lanes& odd) {
  const uint64_t low = XXH_readLE64(secret) + seed, high = XXH_readLE64(secret + 8) - seed;
  const Lanes a = load_words(columns, low), b = load_words(columns + stride, low >> 32);
  const Lanes c = load_words(columns + 2 * stride, high), d = load_words(columns + 3 * stride, high >> 32);
  even += mix_four(a, b, c, d);
  odd += mix_four(a >> 32, b >> 32, c >> 32, d >> 32);
}

// XXH3_len_17to128_64b.
inline void hash_some(const uint32_t* columns, size_t words, size_t stride, uint64_t seed, uint64_t* out) {
  const uint64_t start = words * sizeof *columns * XXH_PRIME64_1;
  Lanes even = Lanes{} + start, odd = even;
  for (size_t at = 0; 2 * at < words; at += 4) {
    const xxh_u8* secret = XXH3_kSecret + 2 * at * sizeof *columns;
    add_four(columns + at * stride, stride, secret, seed, even, odd);
    add_four(columns + (words - 4 - at) * stride, stride, secret + 16, seed, even, odd);
  }
  even = avalanche(even);
  odd = avalanche(odd);
  const Lanes both[] = {lower_in_turns(even, odd), upper_in_turns(even, odd)};
  __builtin_memcpy(out, both, sizeof both);
}
#endif

void hash_rows_64(const uint32_t* columns, size_t words, size_t stride, size_t count, uint64_t seed, uint64_t* out) {
  size_t done = 0;
#ifdef __AVX2__
  if (words >= 5 && words <= 32)
    for (; done + kRows <= count; done += kRows) hash_some(columns + done, words, stride, seed, out + done);
#endif
  // Copies many rows before reading the first: a load that spans two recent stores would stall.
  while (done < count) {
    uint32_t rows[32 * 64];
    const size_t most = words <= 64 ? 32 : 8, some = count - done < most ? count - done : most;
    for (size_t w = 0; w < words; ++w)
      for (size_t i = 0; i < some; ++i) rows[i * words + w] = columns[w * stride + done + i];
    for (size_t i = 0; i < some; ++i) out[done++] = XXH3_64bits_withSeed(rows + i * words, words * sizeof *rows, seed);
  }
}

constexpr HashKernels kTheseHashKernels = {kCompiledFor, hash_64, hash_seeded_64, hash_rows_64, hash_128, update_128};

}  // namespace
}  // namespace sidbeam
