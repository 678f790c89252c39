// XXH3 is the same function whatever instructions compute it.
// SPDX-License-Identifier: Apache-2.0
#include "support/hashing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "support/hashing_kernels.h"

namespace sidbeam::testing {
namespace {

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> out;
  std::copy_if(std::begin(kCpuTargets), std::end(kCpuTargets), std::back_inserter(out), has_cpu_target);
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
    const uint64_t seed = random();
    for (const CpuTarget target : targets()) {
      SCOPED_TRACE(cpu_target_name(target));
      EXPECT_EQ(xxh3_64(target, data.data(), bytes), hash_64(data.data(), bytes));
      EXPECT_EQ(xxh3_128(target, data.data(), bytes), expected_128);
      EXPECT_EQ(xxh3_64(target, data.data(), bytes, seed), XXH3_64bits_withSeed(data.data(), bytes, seed));
      EXPECT_EQ(xxh3_64(target, data.data(), bytes, 0), hash_64(data.data(), bytes));
      Stream128 stream(target);
      for (size_t at = 0; at < bytes;) {
        const size_t piece = std::min<size_t>(bytes - at, random() % 1500);
        stream.add(data.data() + at, piece);
        at += piece;
      }
      EXPECT_EQ(stream.value(), expected_128);
      EXPECT_EQ(stream.value_64(), hash_64(data.data(), bytes));
    }
  }
}

// Rows of every length that has code of its own, more of them than fill lanes.
TEST(SupportHashing, RowsInColumnsAreHashedAsIfTheyLayTogether) {
  constexpr size_t kStride = 45;
  std::mt19937_64 random(6);
  std::vector<uint32_t> columns(255 * kStride);
  for (uint32_t& word : columns) word = static_cast<uint32_t>(random());
  for (size_t words = 1; words <= 255; ++words) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{8}, size_t{43}}) {
      SCOPED_TRACE(std::to_string(words) + " words of " + std::to_string(count));
      const uint64_t seed = count == 7 ? 0 : random();
      std::vector<uint64_t> expected, found(count);
      for (size_t i = 0; i < count; ++i) {
        std::vector<uint32_t> row;
        for (size_t w = 0; w < words; ++w) row.push_back(columns[w * kStride + i]);
        expected.push_back(XXH3_64bits_withSeed(row.data(), words * sizeof(uint32_t), seed));
      }
      for (const CpuTarget target : targets()) {
        found.assign(count, 0);
        xxh3_64_of_rows(target, columns.data(), words, kStride, count, seed, found.data());
        EXPECT_EQ(found, expected) << cpu_target_name(target);
      }
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
