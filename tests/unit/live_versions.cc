// Searches of a version of a live catalogue, against an index built of its items alone: the same codes, scores and
// items, in every mode, with filters and lists.
// SPDX-License-Identifier: Apache-2.0
#include "index_damage.h"
#include "live_pairs.h"
#include "random_seed.h"

namespace sidbeam::testing {
namespace {

constexpr int kCases = SIDBEAM_SANITIZED ? 80 : 250;

TEST(LiveVersions, AreSearchedAsAnIndexOfWhatIsLive) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kCases; ++i) {
    const Pairwise both = make_pair_of(runtime.handle, random);
    for (int k = 0; k < 4; ++k) {
      const Request request = random_request(both.live, random);
      const uint64_t logits_seed = random();
      const Outcome expected = Search(runtime.handle, both.plain.get(), request).run(logits_seed);
      const Outcome found = Search(runtime.handle, both.version.get(), request).run(logits_seed);
      ASSERT_EQ(found.live, expected.live);
      ASSERT_EQ(found.codes, expected.codes);
      ASSERT_EQ(found.parents, expected.parents);
      ASSERT_EQ(found.scores, expected.scores);
      ASSERT_EQ(found.sids, expected.sids);
      ASSERT_EQ(found.items, expected.items) << "distinct " << request.distinct;
      ASSERT_TRUE(found.ordinals_agree);
      ASSERT_EQ(found.allowed_sids, expected.allowed_sids);
      ASSERT_EQ(found.allowed_items, expected.allowed_items);
    }
    ASSERT_FALSE(HasFailure()) << "case " << i;
  }
}

// A vocabulary may lack the codes that no SID has, in the base and in what was added.
TEST(LiveVersions, NeedColumnsForCodesOfBaseAndDelta) {
  Random random(3);
  const Runtime runtime;
  int refused = 0, taken = 0;
  for (int i = 0; i < kCases; ++i) {
    const Pairwise both = make_pair_of(runtime.handle, random);
    const IndexView& view = both.plain->index.view;
    if (both.version->live_rows() != nullptr) continue;  // codes of what has gone need columns, too
    const auto level = static_cast<size_t>(random() % static_cast<uint64_t>(view.levels));
    std::vector<int32_t> map(view.level[level].codes);
    std::iota(map.begin(), map.end(), 0);
    map[random() % map.size()] = -1;
    std::vector<const int32_t*> maps(static_cast<size_t>(view.levels));
    std::vector<int64_t> map_codes(maps.size());
    maps[level] = map.data();
    map_codes[level] = std::ssize(map);
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = view.levels;
    vocabulary.maps = maps.data();
    vocabulary.map_codes = map_codes.data();
    vocabulary.end_column = int64_t{widest_level(view)};
    const auto status_with = [&](sidbeam_index* index) {
      const ConstraintOf of(index, Request());
      sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
      config.vocabulary = &vocabulary;
      config.constraint = of.constraint;
      sidbeam_session* session = nullptr;
      const sidbeam_status status = sidbeam_session_create(runtime.handle, &config, &session, nullptr);
      if (status == SIDBEAM_OK) sidbeam_session_destroy(session);
      return status;
    };
    const sidbeam_status status = status_with(both.plain.get());
    ASSERT_EQ(status_with(both.version.get()), status);
    ++(status == SIDBEAM_OK ? taken : refused);
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

// Of a file that nobody has verified: other items may be found, but nothing else is read.
TEST(LiveVersions, DamagedBasesDoNoHarm) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kCases; ++i) {
    const auto [of_base, of_delta] = split_catalogue(live_catalogue(random), random);
    if (of_delta.pairs.empty()) continue;
    Damaged file(bytes_of(build(of_base)));
    for (uint64_t changes = random() % 12 + 1; changes > 0; --changes) {
      const Section& section = file.header.sections[random() % file.header.sections.size()];
      if (section.spec.length == 0) continue;
      // Mostly small numbers, which lead further in.
      file.bytes[static_cast<int64_t>(section.offset + random() % section.spec.length)] =
          static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 8);
    }
    auto base = std::make_unique<sidbeam_index>();
    base->runtime = Ref<sidbeam_runtime>::share(runtime.handle);
    base->index = file.open(SIDBEAM_VERIFY_HEADER);
    VersionParts parts;
    parts.base = Ref<sidbeam_index>::adopt(base.release());
    parts.delta = plain_index(runtime.handle, of_delta);
    parts.overlay = join(*parts.base, *parts.delta, random);
    if (random() % 3 != 0)
      parts.live_rows = random_live_rows(parts.base->index.view.items + of_delta.pairs.size(), random);
    const Ref<sidbeam_index> version = Ref<sidbeam_index>::adopt(make_version(std::move(parts)).release());
    for (int k = 0; k < 3; ++k) {
      const Request request = random_request(of_delta.pairs, random);
      Search(runtime.handle, version.get(), request).run(random());
    }
  }
}

// A search in a damaged list finds other children than a walk through it: the row that joins them is for the former.
TEST(LiveVersions, BitsOfADamagedRowStayWithinIt) {
  constexpr int32_t kCodes = 500, kAdded = 400;
  Random random(1);
  const Runtime runtime;
  TestCatalogue catalogue;
  catalogue.codes = {kCodes, 4};
  catalogue.kinds = SIDBEAM_KIND_TRIE;
  catalogue.with_ids = true;
  for (int32_t code = 0; code < kCodes; ++code) catalogue.pairs.push_back({{code, 0}, code, {}, 0});
  Damaged file(bytes_of(build(catalogue)));
  file.at<uint16_t>(format::SectionKind::Tokens, 0, 0) = 32771;
  auto base = std::make_unique<sidbeam_index>();
  base->runtime = Ref<sidbeam_runtime>::share(runtime.handle);
  base->index = file.open(SIDBEAM_VERIFY_HEADER);
  catalogue.pairs.resize(kAdded);
  VersionParts parts;
  parts.base = Ref<sidbeam_index>::adopt(base.release());
  parts.delta = plain_index(runtime.handle, catalogue);
  parts.overlay = join(*parts.base, *parts.delta, random);
  parts.live_rows = all_bits(kCodes + kAdded, default_allocator());
  for (int32_t row = 0; row < kAdded; ++row) put_bit(parts.live_rows.data(), static_cast<uint64_t>(row), false);
  const Ref<sidbeam_index> version = Ref<sidbeam_index>::adopt(make_version(std::move(parts)).release());
  EXPECT_EQ(version->version->live_items, kCodes);
  Search(runtime.handle, version.get(), random_request(catalogue.pairs, random)).run(random());
}

// Those of the base's rows, where it keeps them.
TEST(LiveVersions, TellPriorities) {
  const Runtime runtime;
  for (const bool kept : {false, true}) {
    TestCatalogue of_base, of_delta;
    of_base.codes = of_delta.codes = {4};
    of_base.with_priorities = true;
    of_base.keep_priorities = kept;
    of_base.pairs = {{{1}, 7, "", -5}, {{1}, 8, "", 70000}};
    of_delta.with_priorities = of_delta.keep_priorities = true;  // as a store makes it
    of_delta.pairs = {{{2}, 9, "", 12}};
    Random random(1);
    VersionParts parts;
    parts.base = plain_index(runtime.handle, of_base);
    parts.delta = plain_index(runtime.handle, of_delta);
    parts.overlay = join(*parts.base, *parts.delta, random);
    const Ref<sidbeam_index> version = Ref<sidbeam_index>::adopt(make_version(std::move(parts)).release());
    const auto expect = [&](int64_t row, sidbeam_status expected, int64_t priority, const char* text) {
      int64_t found = 0;
      sidbeam_error error = SIDBEAM_ERROR_INIT;
      EXPECT_EQ(sidbeam_index_item_priority(version.get(), row, &found, &error), expected);
      EXPECT_EQ(found, priority);
      EXPECT_STREQ(error.message, text);
    };
    const char* const missing = "the index keeps no priorities: build it with keep_priorities";
    expect(0, kept ? SIDBEAM_OK : SIDBEAM_MISSING_SECTION, kept ? 70000 : 0, kept ? "" : missing);
    expect(1, kept ? SIDBEAM_OK : SIDBEAM_MISSING_SECTION, kept ? -5 : 0, kept ? "" : missing);
    expect(2, SIDBEAM_OK, 12, "");
    expect(3, SIDBEAM_INVALID_ARGUMENT, 0, "item_row is 3, expected 0..2");
  }
}

}  // namespace
}  // namespace sidbeam::testing
