// A live catalogue whose base is replaced: versions of two generations.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>

#include "index/live/publication.h"
#include "index_attribute_columns.h"
#include "live/catalog.h"
#include "live_pairs.h"
#include "live_search.h"

namespace sidbeam::testing {
namespace {

// A generation between two others, which its writer has not kept, leaves a gap that nobody is offered.
TEST(LiveGenerations, AreKeptFromAGapOn) {
  const Runtime runtime;
  TestCatalogue all;
  all.codes = {9};
  for (int32_t i = 0; i < 9; ++i) all.pairs.push_back({{i}, i, "", 0});
  const std::string folder = ::testing::TempDir() + "live_gap_" + std::to_string(::getpid());
  std::filesystem::remove_all(folder);  // of a process that had this number and was killed
  const Ref<sidbeam_index> base = plain_index(runtime.handle, all);
  CatalogSettings settings;
  settings.keep.versions = 2;
  auto catalog = LiveCatalog::create(share(base), folder.c_str(), settings);
  ASSERT_EQ(catalog->compact(SIDBEAM_COMPACT_CONFIG_INIT), 2);
  ASSERT_EQ(catalog->go_back(1), 3);
  for (int64_t id = 0; id < 2; ++id) {
    ASSERT_EQ(catalog->remove(*IdList(base->index.view, {all.pairs[static_cast<size_t>(id)]}).get()), 0);
    ASSERT_EQ(catalog->publish(), 4 + id);
  }
  catalog.reset();
  settings.keep.versions = 100;
  catalog = LiveCatalog::open(Ref<sidbeam_runtime>::share(runtime.handle), folder.c_str(), settings);
  const sidbeam_catalog_info info = catalog->info();
  EXPECT_EQ(info.oldest_version, 3);
  EXPECT_EQ(info.version, 5);
  for (int64_t version = info.oldest_version; version <= info.version; ++version)
    EXPECT_EQ(catalog->version_info(version).version, version);
  EXPECT_THROW(catalog->version_info(1), Failure);
  std::filesystem::remove_all(folder);
}

// A record whose rows are not there, or come in another order than a writer has them in, was not written by one.
TEST(LiveGenerations, RecordsNameRowsThatRise) {
  const Runtime runtime;
  TestCatalogue all;
  all.codes = {9};
  for (int32_t i = 0; i < 9; ++i) all.pairs.push_back({{i}, i, "", 0});
  const Ref<sidbeam_index> base = plain_index(runtime.handle, all);
  Generation generation(1, share(base));
  const auto apply = [&](const std::vector<uint64_t>& toggled) {
    apply_publication(write_publication({2, 0}, toggled), base->index.view, generation.store);
  };
  for (const std::vector<uint64_t>& rows : {std::vector<uint64_t>{9}, {3, 3}, {4, 3}}) {
    try {
      apply(rows);
      FAIL() << "rows from " << rows[0] << " on were taken";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_CORRUPT);
      EXPECT_STREQ(failure.message,
                   "a record of the log is damaged although its checksum matches: item rows that are not there, or do "
                   "not rise");
    }
  }
  EXPECT_EQ(generation.store.live_count(), 9U);
  apply({3, 8});
  EXPECT_EQ(generation.store.live_count(), 7U);
}

// What a pair takes from the one that it replaces is in the log too, and counts with what is given.
TEST(LiveGenerations, TextThatIsTakenCounts) {
  const Runtime runtime;
  TestCatalogue all;
  all.codes = {9};
  all.with_priorities = all.keep_priorities = true;
  all.pairs.push_back({{1}, 1, "", 0});
  const std::vector<TestColumn> columns = {{"text", SIDBEAM_ATTRIBUTE_STRING, {Value(std::string(5000, 'x'))}}};
  auto index = std::make_unique<sidbeam_index>();
  index->runtime = Ref<sidbeam_runtime>::share(runtime.handle);
  index->index = build(all, columns);
  const auto base = Ref<sidbeam_index>::adopt(index.release());
  Generation generation(1, share(base));
  const int32_t code = 1;
  const int64_t id = 1, priority = 7;
  Catalogue::Pairs pairs;
  pairs.codes = &code;
  pairs.ids = &id;
  pairs.priorities = &priority;
  pairs.count = 1;
  ASSERT_TRUE(generation.store.add(pairs, {}));
  EXPECT_GT(generation.store.unsealed_bytes(), 5000);
  EXPECT_GT(std::ssize(write_publication({2, 0}, generation.store)), 5000);
  generation.store.discard();
  EXPECT_EQ(generation.store.unsealed_bytes(), 0);
}

// Versions of two generations to which nothing was added differ in their live bits alone, which are of different bases.
TEST(LiveGenerations, OneGoesBackToAnotherThatDiffersLittle) {
  const Runtime runtime;
  TestCatalogue all;
  all.codes = {150, 7};
  const auto begins_with = [](int32_t first, const Pair& pair) { return pair.sid[0] == first; };
  for (int32_t node = 0; node < 150; ++node)
    for (int32_t j = 0; j <= node % 7; ++j) all.pairs.push_back({{node, j}, node * 10 + j, "", 0});
  const Ref<sidbeam_index> base = plain_index(runtime.handle, all);
  const auto catalog = LiveCatalog::create(share(base), nullptr, CatalogSettings());
  // All items that begin with a code.
  const auto remove_below = [&](int32_t first) {
    std::vector<Pair> pairs;
    std::copy_if(all.pairs.begin(), all.pairs.end(), std::back_inserter(pairs), std::bind_front(begins_with, first));
    EXPECT_EQ(catalog->remove(*IdList(base->index.view, pairs).get()), 0);
    return catalog->publish();
  };
  ASSERT_EQ(remove_below(3), 2);
  ASSERT_EQ(catalog->compact(SIDBEAM_COMPACT_CONFIG_INIT), 3);
  ASSERT_EQ(remove_below(50), 4);
  ASSERT_EQ(catalog->go_back(2), 5);
  std::erase_if(all.pairs, std::bind_front(begins_with, 3));
  const Ref<sidbeam_index> plain = plain_index(runtime.handle, all);
  Request everything;
  everything.beams = 1000;
  const Outcome expected = Search(runtime.handle, plain.get(), everything).run(1);
  for (const int64_t version : {2, 5}) {
    const Outcome found = Search(runtime.handle, catalog->find(version).get(), everything).run(1);
    ASSERT_EQ(found.items, expected.items);
    ASSERT_EQ(found.scores, expected.scores);
    ASSERT_EQ(found.allowed_sids, expected.allowed_sids);
  }
}

}  // namespace
}  // namespace sidbeam::testing
