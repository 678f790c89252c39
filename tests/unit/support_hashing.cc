// XXH3 is the same function whatever instructions compute it.
// SPDX-License-Identifier: Apache-2.0
#include "support/hashing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/hashing_kernels.h"

namespace sidbeam::testing {
namespace {

// Those of this file are compiled for the baseline.
std::vector<HashKernels> targets() {
  std::vector<HashKernels> out = {{hash_64, hash_seeded_64, hash_rows_64, hash_128, update_128}};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) out.push_back(kAvx2HashKernels);
  if (__builtin_cpu_supports("avx512f")) out.push_back(kAvx512HashKernels);
#endif
  return out;
}

TEST(SupportHashing, IsXxh3WhateverTheMachine) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  std::vector<unsigned char> data(9000);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  for (size_t bytes = 0; bytes < data.size(); bytes += bytes < 600 ? 1 : 97) {
    SCOPED_TRACE(bytes);
    const XXH128_hash_t expected = hash_128(data.data(), bytes);
    const Hash128 expected_128 = {expected.low64, expected.high64};
    EXPECT_EQ(xxh3_64(data.data(), bytes), hash_64(data.data(), bytes));
    EXPECT_EQ(xxh3_128(data.data(), bytes), expected_128);
    Stream128 stream;
    for (size_t at = 0; at < bytes;) {
      const size_t piece = std::min<size_t>(bytes - at, random() % 1500);
      stream.add(data.data() + at, piece);
      at += piece;
    }
    EXPECT_EQ(stream.value(), expected_128);
    EXPECT_EQ(stream.value_64(), hash_64(data.data(), bytes));
    const uint64_t seed = random();
    EXPECT_EQ(xxh3_64(data.data(), bytes, seed), XXH3_64bits_withSeed(data.data(), bytes, seed));
    EXPECT_EQ(xxh3_64(data.data(), bytes, 0), hash_64(data.data(), bytes));
    for (const HashKernels& kernels : targets()) {
      EXPECT_EQ(kernels.hash_64(data.data(), bytes), hash_64(data.data(), bytes));
      EXPECT_EQ(kernels.hash_seeded_64(data.data(), bytes, seed), XXH3_64bits_withSeed(data.data(), bytes, seed));
      EXPECT_EQ(kernels.hash_128(data.data(), bytes).low64, expected.low64);
      XXH3_state_t state;
      XXH3_INITSTATE(&state);
      XXH3_128bits_reset(&state);
      for (size_t at = 0; at < bytes; at += 700)
        kernels.update_128(&state, data.data() + at, std::min<size_t>(bytes - at, 700));
      EXPECT_EQ(XXH3_128bits_digest(&state).low64, expected.low64);
    }
  }
}

// Rows of every length that there is a way of its own for, more of them than fill lanes.
TEST(SupportHashing, RowsInColumnsAreHashedAsIfTheyLayTogether) {
  constexpr size_t kStride = 45;
  std::mt19937_64 random(6);
  std::vector<uint32_t> columns(64 * kStride);
  for (uint32_t& word : columns) word = static_cast<uint32_t>(random());
  for (size_t words = 1; words <= 64; ++words) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{8}, size_t{43}}) {
      SCOPED_TRACE(std::to_string(words) + " words of " + std::to_string(count));
      const uint64_t seed = count == 7 ? 0 : random();
      std::vector<uint64_t> expected, found(count);
      for (size_t i = 0; i < count; ++i) {
        std::vector<uint32_t> row;
        for (size_t w = 0; w < words; ++w) row.push_back(columns[w * kStride + i]);
        expected.push_back(XXH3_64bits_withSeed(row.data(), words * sizeof(uint32_t), seed));
      }
      xxh3_64_of_rows(columns.data(), words, kStride, count, seed, found.data());
      EXPECT_EQ(found, expected);
      for (const HashKernels& kernels : targets()) {
        found.assign(count, 0);
        kernels.hash_rows_64(columns.data(), words, kStride, count, seed, found.data());
        EXPECT_EQ(found, expected);
      }
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
