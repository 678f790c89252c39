// The builder: the same bytes from the same pairs, and clear refusals.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "index/read/lookup.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

TEST(IndexBuild, OrderCallsAndThreadsDoNotChangeTheBytes) {
  const uint64_t first_seed = 77;
  for (uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TestCatalogue catalogue = random_catalogue(random);
    catalogue.with_ids = true;  // otherwise the id is the row, and order matters
    const std::vector<uint8_t> bytes = bytes_of(build(catalogue));
    std::shuffle(catalogue.pairs.begin(), catalogue.pairs.end(), random);
    EXPECT_EQ(bytes_of(build(catalogue, 3, 1 + random() % 7)), bytes);
    if (HasFailure()) break;
  }
}

// Enough rows for several chunks, slices and threads.
TEST(IndexBuild, LargeCataloguesAreTheSameOnManyThreads) {
  std::mt19937_64 random(5);
  for (const int levels : {3, 7}) {
    const int64_t rows = SIDBEAM_SANITIZED ? 5'000'000 / levels : 2'500'000, alike = rows / 25 * 13;
    // With 7 levels the tail of a compact trie has a bitmap, which chunks share.
    const std::vector<int32_t> sizes(static_cast<size_t>(levels), levels == 7 ? 40000 : 1500);
    std::vector<int32_t> codes(static_cast<size_t>(rows * levels));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<int32_t>(i % static_cast<size_t>(levels) == 0 ? random() % 4 : random() % 1500);
    // One SID that most of a chunk shares.
    std::fill(codes.begin(), codes.begin() + levels * alike, 1);
    sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
    config.levels = levels;
    config.codes = sizes.data();
    config.kinds = (levels == 7 ? SIDBEAM_KIND_COMPACT_TRIE : SIDBEAM_KIND_TRIE) | SIDBEAM_KIND_HASH;
    std::vector<uint8_t> bytes;
    for (const int threads : {1, 4}) {
      Builder builder(config, threads, default_allocator());
      const int64_t half = threads == 1 ? rows : rows / 3;
      builder.add(codes.data(), nullptr, half, nullptr, nullptr);
      builder.add(codes.data() + half * levels, nullptr, rows - half, nullptr, nullptr);
      const Index index = builder.finish();
      expect_verified(index, threads);
      EXPECT_EQ(index.header.info.items, rows);
      EXPECT_EQ(index.view.tail.splits != nullptr, levels == 7);
      EXPECT_EQ(index.header.info.max_items_per_sid, alike);
      if (threads == 1) {
        bytes = bytes_of(index);
      } else {
        EXPECT_EQ(bytes_of(index), bytes);
      }
    }
  }
}

TEST(IndexBuild, FingerprintIsOfTheCatalogueAlone) {
  TestCatalogue catalogue;
  catalogue.codes = {5, 5};
  catalogue.pairs = {{{1, 2}, 10, "", 0}, {{3, 4}, 11, "", 0}, {{3, 4}, 12, "", 0}};
  const std::string fingerprint = build(catalogue).header.info.fingerprint;
  EXPECT_EQ(fingerprint.size(), 32u);
  catalogue.kinds = 7;
  EXPECT_EQ(build(catalogue).header.info.fingerprint, fingerprint);
  Builder with_metadata(catalogue.config(), 1, default_allocator());
  add_pairs(with_metadata, catalogue, 0, 3);
  with_metadata.set_metadata("model", "a");
  EXPECT_EQ(with_metadata.finish().header.info.fingerprint, fingerprint);
  catalogue.pairs[2].id = 13;
  EXPECT_NE(build(catalogue).header.info.fingerprint, fingerprint);
  catalogue.pairs[2] = {{3, 3}, 12, "", 0};
  EXPECT_NE(build(catalogue).header.info.fingerprint, fingerprint);
}

TEST(IndexBuild, MetadataAndCodebookComeBackSorted) {
  TestCatalogue catalogue;
  catalogue.codes = {2};
  catalogue.pairs = {{{1}, 1, "", 0}};
  sidbeam_builder_config config = catalogue.config();
  config.codebook = "rq-vae 7";
  Builder builder(config, 1, default_allocator());
  add_pairs(builder, catalogue, 0, 1);
  builder.set_metadata("z", "1");
  builder.set_metadata("a", "2");
  builder.set_metadata("z", "3");
  const Index index = builder.finish();
  EXPECT_EQ(index.header.codebook, "rq-vae 7");
  const std::vector<std::pair<std::string, std::string>> expected = {{"a", "2"}, {"z", "3"}};
  EXPECT_EQ(index.header.metadata, expected);
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "key is empty", builder.set_metadata("", "x"));
}

TEST(IndexBuild, CollisionsAreRefusedByName) {
  TestCatalogue catalogue;
  catalogue.codes = {9, 9};
  catalogue.collisions = SIDBEAM_COLLISIONS_ERROR;
  catalogue.pairs = {{{8, 8}, 1, "", 0}, {{1, 2}, 70, "", 0}, {{8, 8}, 2, "", 0}, {{1, 2}, 60, "", 0}};
  EXPECT_FAILS(SIDBEAM_COLLISION, "the SID 1,2 has the items 60 (row 3) and 70 (row 1)", build(catalogue));
  // The same pair twice is no collision.
  catalogue.pairs = {{{1, 2}, 70, "", 0}, {{1, 2}, 70, "", 5}};
  EXPECT_EQ(build(catalogue).header.info.merged_pairs, 1);
  catalogue.id_type = SIDBEAM_ID_STRING;
  catalogue.pairs = {{{1, 2}, 0, "b", 0}, {{1, 2}, 0, "a", 5}};
  EXPECT_FAILS(SIDBEAM_COLLISION, "'a' (row 1) and 'b' (row 0)", build(catalogue));
}

TEST(IndexBuild, BadConfigurationsNameTheField) {
  TestCatalogue catalogue;
  catalogue.codes = {4, 4};
  const auto expect = [&](const char* text, auto&& change) {
    sidbeam_builder_config config = catalogue.config();
    change(config);
    EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, text, Builder(config, 1, default_allocator()));
  };
  expect("levels is 0, expected 1 to 255", [](auto& c) { c.levels = 0; });
  expect("levels is 256, expected 1 to 255", [](auto& c) { c.levels = 256; });
  expect("codes is NULL", [](auto& c) { c.codes = nullptr; });
  expect("variable_length is 2", [](auto& c) { c.variable_length = 2; });
  expect("id_type is 3", [](auto& c) { c.id_type = 3; });
  expect("kinds is 16", [](auto& c) { c.kinds = 16; });
  expect("collisions is -1", [](auto& c) { c.collisions = -1; });
  expect("threads is -1", [](auto& c) { c.threads = -1; });
  expect("memory_limit_bytes is -1", [](auto& c) { c.memory_limit_bytes = -1; });
  expect("keep_priorities is 2, expected 0 or 1", [](auto& c) { c.keep_priorities = 2; });
  catalogue.codes = {4, 0};
  expect("codes[1] is 0, expected 1 to 16777216", [](auto&) {});
  catalogue.codes = {4, (1 << 24) + 1};
  expect("codes[1] is 16777217, expected 1 to 16777216", [](auto&) {});
  catalogue.codes = {4, 1 << 24};
  expect("codes[1] is 16777216, expected 1 to 16777215", [](auto& c) { c.variable_length = 1; });
}

TEST(IndexBuild, BadRowsAreNamedAndNothingOfTheirCallIsAdded) {
  TestCatalogue catalogue;
  catalogue.codes = {4, 6};
  Builder builder(catalogue.config(), 2, default_allocator());
  const int32_t good[] = {0, 5, 3, 0}, bad[] = {1, 1, 1, 6}, negative[] = {-1, 0};
  const int64_t ids[] = {1, 2};
  builder.add(good, nullptr, 2, ids, nullptr);
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 3, level 1: code 6, expected 0 to 5",
               builder.add(bad, nullptr, 2, ids, ids));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 2, level 0: code -1, expected 0 to 3",
               builder.add(negative, nullptr, 1, ids, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "ids: NULL here, but given for the 2 rows before",
               builder.add(good, nullptr, 2, nullptr, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "count is -1", builder.add(good, nullptr, -1, ids, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "codes is NULL", builder.add(nullptr, nullptr, 1, ids, nullptr));
  const int32_t short_length[] = {1};
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 2 has 1 codes, expected 2 (variable_length is 0)",
               builder.add(good, short_length, 1, ids, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "pairs are added with add, not with add_named",
               builder.add_named(good, nullptr, 1, "a", ids, nullptr));
  EXPECT_EQ(builder.finish().header.info.items, 2);
  EXPECT_FAILS(SIDBEAM_BAD_STATE, "nothing can be added", builder.add(good, nullptr, 1, ids, nullptr));
}

TEST(IndexBuild, LengthsOutOfRangeAreRefused) {
  TestCatalogue catalogue;
  catalogue.codes = {4, 4};
  catalogue.variable_length = true;
  Builder builder(catalogue.config(), 1, default_allocator());
  const int32_t codes[] = {0, 0}, empty[] = {0}, negative[] = {-1}, tall[] = {3};
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 0 is empty", builder.add(codes, empty, 1, nullptr, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 0 has -1 codes", builder.add(codes, negative, 1, nullptr, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "row 0 has 3 codes", builder.add(codes, tall, 1, nullptr, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "the catalogue is empty", builder.finish());
}

TEST(IndexBuild, NamesNeedRisingOffsets) {
  TestCatalogue catalogue;
  catalogue.codes = {4};
  catalogue.id_type = SIDBEAM_ID_STRING;
  Builder builder(catalogue.config(), 1, default_allocator());
  const int32_t codes[] = {0, 1};
  const int64_t falling[] = {0, 5, 2}, rising[] = {0, 1, 2};
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "id_offsets[2] is 2, expected at least the entry before, 5",
               builder.add_named(codes, nullptr, 2, "abcde", falling, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "id_offsets is NULL",
               builder.add_named(codes, nullptr, 2, "ab", nullptr, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "id_bytes is NULL",
               builder.add_named(codes, nullptr, 2, nullptr, rising, nullptr));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "pairs are added with add_named, not with add",
               builder.add(codes, nullptr, 2, nullptr, nullptr));
}

TEST(IndexBuild, PlanIsWhatTheFileHas) {
  const uint64_t first_seed = 900;
  for (uint64_t seed = first_seed; seed < first_seed + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const TestCatalogue catalogue = random_catalogue(random);
    Builder builder(catalogue.config(), 1, default_allocator());
    add_pairs(builder, catalogue, 0, catalogue.pairs.size());
    const Plan plan = builder.plan();
    const Index index = builder.finish();
    EXPECT_EQ(plan.info.exact, 1);
    EXPECT_EQ(plan.info.struct_size, sizeof plan.info);
    EXPECT_EQ(plan.info.file_bytes, index.bytes.size());
    EXPECT_EQ(plan.info.sids, index.header.info.sids);
    EXPECT_EQ(plan.info.items, index.header.info.items);
    EXPECT_EQ(plan.info.section_count, std::ssize(plan.sections));
    EXPECT_GE(plan.info.peak_bytes, plan.info.file_bytes);
    EXPECT_EQ(plan.info.levels, catalogue.levels());
    EXPECT_EQ(plan.nodes, index.header.nodes);
    ASSERT_EQ(plan.sections.size(), index.header.sections.size());
    for (size_t i = 0; i < plan.sections.size(); ++i) {
      const SectionInfo &planned = plan.sections[i], &there = index.header.sections[i];
      EXPECT_EQ(planned.kind, there.kind);
      EXPECT_EQ(planned.level, there.level);
      EXPECT_EQ(planned.encoding, there.encoding);
      EXPECT_EQ(planned.offset, there.offset);
      EXPECT_EQ(planned.bytes, there.bytes);
      EXPECT_EQ(planned.checksum, 0);
    }
  }
}

TEST(IndexBuild, EstimateIsCloseForUniformSids) {
  TestCatalogue catalogue;
  catalogue.codes = {256, 256, 256};
  catalogue.collisions = SIDBEAM_COLLISIONS_FIRST;
  std::mt19937_64 random(3);
  for (int64_t i = 0; i < 50000; ++i) {
    const auto code = [&] { return static_cast<int32_t>(random() % 256); };
    catalogue.pairs.push_back({{code(), code(), code()}, i, "", 0});
  }
  const Index index = build(catalogue);
  const Plan plan = estimate_plan(catalogue.config(), static_cast<int64_t>(index.view.sids));
  EXPECT_EQ(plan.info.exact, 0);
  EXPECT_EQ(plan.nodes[0], 256);
  EXPECT_NEAR(static_cast<double>(plan.nodes[1]), static_cast<double>(index.header.nodes[1]), 500);
  EXPECT_NEAR(static_cast<double>(plan.info.file_bytes), static_cast<double>(index.bytes.size()), 10000);
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "allow only 16777216 SIDs", estimate_plan(catalogue.config(), 1 << 25));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "sids is 0, expected 1 to 2^40 - 1", estimate_plan(catalogue.config(), 0));
}

// There are 2^6120 prefixes, more than a double holds.
TEST(IndexBuild, EstimateOfTheMostLevelsAndCodesIsANumber) {
  TestCatalogue catalogue;
  catalogue.codes.assign(SIDBEAM_MAX_LEVELS, SIDBEAM_MAX_CODES);
  std::feclearexcept(FE_INVALID);
  const Plan plan = estimate_plan(catalogue.config(), 1000);
  EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);  // what a NaN is rounded to differs among machines
  EXPECT_EQ(plan.nodes, std::vector<int64_t>(SIDBEAM_MAX_LEVELS, 1000));
}

TEST(IndexBuild, MemoryLimitIsThePlansPeak) {
  TestCatalogue catalogue;
  catalogue.codes = {256, 256};
  for (int32_t i = 0; i < 3000; ++i) catalogue.pairs.push_back({{i % 256, i / 256}, i, "", 0});
  sidbeam_builder_config config = catalogue.config();
  const auto peak_of = [&] {
    Builder builder(config, 1, default_allocator());
    add_pairs(builder, catalogue, 0, catalogue.pairs.size());
    return builder.plan().info.peak_bytes;
  };
  const auto finish = [&] {
    Builder builder(config, 1, default_allocator());
    add_pairs(builder, catalogue, 0, catalogue.pairs.size());
    return builder.finish();
  };
  const int64_t peak = peak_of();
  config.memory_limit_bytes = peak;
  EXPECT_NO_THROW(finish());
  config.memory_limit_bytes = peak - 1;
  const std::string text =
      "the build needs about " + std::to_string(peak) + " bytes, memory_limit_bytes is " + std::to_string(peak - 1);
  EXPECT_FAILS(SIDBEAM_OUT_OF_MEMORY, text, finish());
}

struct CancelAt {
  int32_t phase;
  int seen[5] = {};
  static int32_t call(void* context, int32_t phase, int64_t done, int64_t total) {
    auto& self = *static_cast<CancelAt*>(context);
    EXPECT_LE(done, total);
    ++self.seen[phase];
    return phase == self.phase;
  }
};

TEST(IndexBuild, CancellingStopsInAnyPhaseAndMayBeTriedAgain) {
  TestCatalogue catalogue;
  catalogue.codes = {4};
  catalogue.pairs = {{{1}, 5, "", 0}, {{0}, 4, "", 0}};
  for (int32_t phase = SIDBEAM_PHASE_SORT; phase <= SIDBEAM_PHASE_CHECKSUM; ++phase) {
    CancelAt cancel{phase};
    sidbeam_builder_config config = catalogue.config();
    config.progress = CancelAt::call;
    config.progress_context = &cancel;
    Builder builder(config, 1, default_allocator());
    add_pairs(builder, catalogue, 0, 2);
    EXPECT_FAILS(SIDBEAM_CANCELLED, "cancelled by its progress callback", builder.finish());
    EXPECT_EQ(cancel.seen[phase], 1);
    cancel.phase = -1;
    EXPECT_EQ(bytes_of(builder.finish()), bytes_of(build(catalogue)));
  }
}

}  // namespace
}  // namespace sidbeam::testing
