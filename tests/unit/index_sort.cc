// Sorting against std::sort, on keys that spread and on keys that cluster, so that parts are split again.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "index/build/radix.h"
#include "index/build/sorted.h"

namespace sidbeam::testing {
namespace {

struct Shape {
  const char* name;
  std::vector<int32_t> levels;
  int32_t (*draw)(std::mt19937_64& random, int level);
};

// More rows than a part may have, so each of these makes parts in another way.
const Shape kShapes[] = {
    {"spread", {2048, 2048, 2048, 2048, 2048}, [](auto& random, int) { return static_cast<int32_t>(random() % 2048); }},
    {"two words", std::vector<int32_t>(9, 2000),
     [](auto& random, int) { return static_cast<int32_t>(random() % 2000); }},
    // The first word is the same, with few exceptions.
    {"late", std::vector<int32_t>(9, 2048),
     [](auto& random, int level) { return static_cast<int32_t>(level < 6 ? random() % 1000 == 0 : random() % 2048); }},
    // Most rows have one SID.
    {"one SID", std::vector<int32_t>(7, 3000),
     [](auto& random, int) { return static_cast<int32_t>(random() % 50 == 0 ? random() % 3000 : 5); }},
    {"all the same", {1, 1, 300}, [](auto&, int level) { return level < 2 ? 0 : 299; }},
    {"whole words", std::vector<int32_t>(8, 65536),
     [](auto& random, int) { return static_cast<int32_t>(random() % 65536); }},
};

TEST(IndexSort, IsTheOrderOfStdSort) {
  constexpr int64_t kRows = SIDBEAM_SANITIZED ? 60'000 : 300'000;
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    std::mt19937_64 random(17);
    const size_t levels = shape.levels.size();
    std::vector<int32_t> codes(static_cast<size_t>(kRows) * levels);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = shape.draw(random, static_cast<int>(i % levels));
    sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
    config.levels = static_cast<int32_t>(levels);
    config.codes = shape.levels.data();
    const auto sid = [&](int64_t row) { return codes.data() + static_cast<size_t>(row) * levels; };
    std::vector<int64_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(sid(a), sid(a) + levels, sid(b), sid(b) + levels);
    });
    for (const int threads : {1, 3}) {
      Catalogue catalogue(config, default_allocator());
      Catalogue::Pairs pairs;
      pairs.codes = codes.data();
      pairs.count = kRows;
      catalogue.add(pairs, threads);
      const SortedCatalogue sorted = sort_catalogue(catalogue, config, threads);
      ASSERT_EQ(sorted.items, kRows);
      EXPECT_LE(sorted.sort_bytes, most_bytes_to_sort(catalogue.layout, kRows, threads));
      int64_t ordinal = -1;
      for (int64_t i = 0; i < kRows; ++i) {
        ASSERT_EQ(static_cast<int64_t>(sorted.rows[i]), rows[static_cast<size_t>(i)]) << "item " << i;
        const int32_t* codes_here = sid(rows[static_cast<size_t>(i)]);
        const int32_t* before = i == 0 ? nullptr : sid(rows[static_cast<size_t>(i) - 1]);
        const auto same = before == nullptr ? 0 : std::mismatch(before, before + levels, codes_here).first - before;
        if (same == static_cast<int64_t>(levels)) continue;
        ++ordinal;
        ASSERT_EQ(sorted.first_new[ordinal], same) << "SID " << ordinal;
        ASSERT_EQ(sorted.item_offsets.size() == 0 ? i : sorted.item_offsets[ordinal], i);
        for (size_t l = 0; l < levels; ++l)
          ASSERT_EQ(sorted.column(static_cast<int>(l))[ordinal], static_cast<uint32_t>(codes_here[l]));
      }
      EXPECT_EQ(ordinal + 1, sorted.sids);
    }
  }
}

TEST(IndexSort, ChunkedArrayKeepsItsElements) {
  for (const int64_t count : {int64_t{1}, int64_t{1024}, int64_t{1025}, int64_t{9'000'000}}) {
    ChunkedArray<int32_t> array(default_allocator());
    array.reserve(count / 2);
    for (int64_t i = 0; i < count / 2; ++i) array[i] = static_cast<int32_t>(i);
    array.reserve(count);
    for (int64_t i = count / 2; i < count; ++i) array[i] = static_cast<int32_t>(i);
    EXPECT_EQ(array.bytes(), ChunkedArray<int32_t>::capacity_for(count) * 4);
    for (int64_t i = 0, run = 0; i < count; i += run) {
      run = std::min(count - i, array.run(i));
      ASSERT_GE(run, 1);
      for (int64_t k = 0; k < run; ++k) ASSERT_EQ((&array[i])[k], i + k);
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
