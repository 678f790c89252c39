// The key of a SID in the hash set: XXH3-64 of its codes, as XXH3 defines it for inputs of 4 to 256 bytes with the
// default secret and a seed (support/hashing.h has the library's, which device code cannot call).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "index/views.h"
#include "support/host_device.h"

namespace sidbeam::cuda {

// The default secret, in constant memory: indexed by what the compiler does not know, a table would be copied to the
// stack.
#if !defined(SIDBEAM_EMULATED)
__constant__
#endif
    const uint64_t kXxh3Secret[24] = {0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
                                      0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
                                      0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
                                      0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
                                      0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
                                      0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af};

// The 8 bytes of the secret from byte `at` on.
__device__ inline uint64_t xxh3_secret(int at) {
  const int word = at / 8, bits = at % 8 * 8;
  return bits == 0 ? kXxh3Secret[word] : kXxh3Secret[word] >> bits | kXxh3Secret[word + 1] << (64 - bits);
}

// The input: 32-bit words. Reads 64 bits from byte `at`, a multiple of 4.
template <class Codes>
struct Xxh3Input {
  const Codes& codes;
  uint64_t seed;
  __device__ uint64_t word(int at) const {
    return static_cast<uint32_t>(codes[at / 4]) | uint64_t{static_cast<uint32_t>(codes[at / 4 + 1])} << 32;
  }
};

__device__ inline uint64_t multiply_fold(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return a * b ^ __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#endif
}
__device__ inline uint64_t xxh3_avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 37) * 0x165667919E3779F9U;
  return hash ^ hash >> 32;
}
template <class Codes>
__device__ uint64_t xxh3_mix16(const Xxh3Input<Codes>& in, int at, int secret) {
  return multiply_fold(in.word(at) ^ (xxh3_secret(secret) + in.seed),
                       in.word(at + 8) ^ (xxh3_secret(secret + 8) - in.seed));
}

inline constexpr uint64_t kXxhPrime1 = 0x9E3779B185EBCA87, kXxhPrime2 = 0xC2B2AE3D27D4EB4F,
                          kXxhPrime3 = 0x165667B19E3779F9, kXxhPrime4 = 0x85EBCA77C2B2AE63,
                          kXxhPrime5 = 0x27D4EB2F165667C5;
inline constexpr uint32_t kXxhPrime32_1 = 0x9E3779B1, kXxhPrime32_2 = 0x85EBCA77, kXxhPrime32_3 = 0xC2B2AE3D;

__device__ inline uint64_t byte_swapped(uint64_t v) {
  v = (v & 0x00FF00FF00FF00FF) << 8 | (v >> 8 & 0x00FF00FF00FF00FF);
  v = (v & 0x0000FFFF0000FFFF) << 16 | (v >> 16 & 0x0000FFFF0000FFFF);
  return v << 32 | v >> 32;
}

template <class Codes>
__device__ uint64_t xxh3_up_to_16(const Xxh3Input<Codes>& in, int bytes) {
  if (bytes <= 8) {
    const uint64_t first = static_cast<uint32_t>(in.codes[0]), last = static_cast<uint32_t>(in.codes[bytes / 4 - 1]);
    const uint64_t seed = in.seed ^ byte_swapped(in.seed & 0xFFFFFFFF);
    uint64_t h = (last + (first << 32)) ^ ((xxh3_secret(8) ^ xxh3_secret(16)) - seed);
    h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
    h *= 0x9FB21C651E98DF25U;
    h ^= (h >> 35) + static_cast<uint64_t>(bytes);
    h *= 0x9FB21C651E98DF25U;
    return h ^ h >> 28;
  }
  const uint64_t low = in.word(0) ^ ((xxh3_secret(24) ^ xxh3_secret(32)) + in.seed);
  const uint64_t high = in.word(bytes - 8) ^ ((xxh3_secret(40) ^ xxh3_secret(48)) - in.seed);
  return xxh3_avalanche(static_cast<uint64_t>(bytes) + byte_swapped(low) + high + multiply_fold(low, high));
}

template <class Codes>
__device__ uint64_t xxh3_up_to_128(const Xxh3Input<Codes>& in, int bytes) {
  uint64_t sum = static_cast<uint64_t>(bytes) * kXxhPrime1;
#pragma unroll 1
  for (int i = (bytes - 1) / 32; i >= 0; --i)
    sum += xxh3_mix16(in, 16 * i, 32 * i) + xxh3_mix16(in, bytes - 16 * (i + 1), 32 * i + 16);
  return xxh3_avalanche(sum);
}

template <class Codes>
__device__ uint64_t xxh3_up_to_240(const Xxh3Input<Codes>& in, int bytes) {
  uint64_t sum = static_cast<uint64_t>(bytes) * kXxhPrime1;
#pragma unroll 1
  for (int i = 0; i < 8; ++i) sum += xxh3_mix16(in, 16 * i, 16 * i);
  sum = xxh3_avalanche(sum);
#pragma unroll 1
  for (int i = 8; i < bytes / 16; ++i) sum += xxh3_mix16(in, 16 * i, 16 * (i - 8) + 3);
  return xxh3_avalanche(sum + xxh3_mix16(in, bytes - 16, 136 - 17));
}

// The same for the secret modified by the seed, which inputs of more than 240 bytes use.
template <class Codes>
__device__ uint64_t xxh3_seeded_secret(const Xxh3Input<Codes>& in, int at) {
  const auto word = [&](int i) { return xxh3_secret(8 * i) + (i % 2 == 0 ? in.seed : 0 - in.seed); };
  const int bits = at % 8 * 8;
  return bits == 0 ? word(at / 8) : word(at / 8) >> bits | word(at / 8 + 1) << (64 - bits);
}

// Up to 1024 bytes: one partial block of 64-byte stripes.
template <class Codes>
__device__ uint64_t xxh3_stripes(const Xxh3Input<Codes>& in, int bytes) {
  uint64_t lanes[8] = {kXxhPrime32_3, kXxhPrime1,    kXxhPrime2, kXxhPrime3,
                       kXxhPrime4,    kXxhPrime32_2, kXxhPrime5, kXxhPrime32_1};
  const auto add_stripe = [&](int at, int secret) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint64_t value = in.word(at + 8 * i), keyed = value ^ xxh3_seeded_secret(in, secret + 8 * i);
      lanes[i ^ 1] += value;
      lanes[i] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
    }
  };
  const int stripes = (bytes - 1) / 64;
#pragma unroll 1
  for (int s = 0; s <= stripes; ++s) add_stripe(s < stripes ? 64 * s : bytes - 64, s < stripes ? 8 * s : 192 - 64 - 7);
  uint64_t sum = static_cast<uint64_t>(bytes) * kXxhPrime1;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    sum += multiply_fold(lanes[2 * i] ^ xxh3_seeded_secret(in, 11 + 16 * i),
                         lanes[2 * i + 1] ^ xxh3_seeded_secret(in, 11 + 16 * i + 8));
  return xxh3_avalanche(sum);
}

template <class Codes>
__device__ uint64_t xxh3_of_codes(const Codes& codes, int count, uint64_t seed) {
  const Xxh3Input<Codes> in{codes, seed};
  const int bytes = 4 * count;
  return bytes <= 16    ? xxh3_up_to_16(in, bytes)
         : bytes <= 128 ? xxh3_up_to_128(in, bytes)
         : bytes <= 240 ? xxh3_up_to_240(in, bytes)
                        : xxh3_stripes(in, bytes);
}

struct HashKey {
  template <class Codes>
  __device__ uint64_t operator()(const IndexView& index, const Codes& codes) const {
    if (index.hash.hashed) return xxh3_of_codes(codes, index.levels, index.hash.seed) & index.hash.key_mask;
    uint64_t key = 0;
    for (int l = index.levels - 1; l >= 0; --l)
      key = key * (uint64_t{index.level[l].codes} + (index.variable_length ? 1 : 0)) + static_cast<uint32_t>(codes[l]);
    return key;
  }
};

}  // namespace sidbeam::cuda
