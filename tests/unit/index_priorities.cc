// Priorities that a file keeps: they come back as they were given, the bytes depend on nothing else, full verification
// finds what cannot be, and readers that know nothing of them read on.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "index/priorities.h"
#include "index_attribute_columns.h"
#include "index_damage.h"

namespace sidbeam::testing {
namespace {

using format::Encoding;
using format::SectionKind;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

const Section* section_of(const FileHeader& header) {
  for (const Section& section : header.sections)
    if (section.spec.kind == SectionKind::ItemPriorities) return &section;
  return nullptr;
}

std::vector<int64_t> priorities_of(const Index& index) {
  std::vector<int64_t> all;
  for (uint64_t row = 0; row < index.view.items; ++row) all.push_back(item_priority(index.priorities, row));
  return all;
}

std::vector<int64_t> expected_priorities(const TestCatalogue& catalogue) {
  std::vector<int64_t> all;
  for (const auto& [sid, items] : Model(catalogue).sids)
    for (const Model::Item& item : items) all.push_back(item.priority);
  return all;
}

// A SID per entry, whose items have the ids 0, 1, 2 ... and these priorities.
TestCatalogue catalogue_of(const std::vector<std::vector<int64_t>>& sids) {
  TestCatalogue out;
  out.codes = {100};
  out.with_priorities = out.keep_priorities = true;
  for (size_t sid = 0; sid < sids.size(); ++sid)
    for (size_t i = 0; i < sids[sid].size(); ++i)
      out.pairs.push_back(
          {{static_cast<int32_t>(sid)}, static_cast<int64_t>(i), "item-" + std::to_string(i), sids[sid][i]});
  return out;
}

// Priorities of every width, the extremes among them.
TestCatalogue random_priorities(std::mt19937_64& random) {
  TestCatalogue out = random_catalogue(random);
  out.keep_priorities = true;
  const uint64_t width = random() % 5;
  for (Pair& pair : out.pairs) {
    if (!out.with_priorities) continue;
    const uint64_t noise = random();
    pair.priority = width == 0       ? -7
                    : width == 1     ? static_cast<int64_t>(noise % 5) - 2
                    : width == 2     ? static_cast<int64_t>(noise % 1000000) - 3
                    : width == 3     ? static_cast<int64_t>(noise)
                    : noise % 3 == 0 ? kLeast
                    : noise % 3 == 1 ? kMost
                                     : 0;
  }
  return out;
}

TEST(IndexPriorities, ComeBackAsGivenWhateverTheCatalogue) {
  const uint64_t first_seed = 300;
  for (uint64_t seed = first_seed; seed < first_seed + 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const TestCatalogue catalogue = random_priorities(random);
    const std::vector<TestColumn> columns =
        seed % 3 == 0 ? random_columns(catalogue, random) : std::vector<TestColumn>();
    const Index index = build(catalogue, columns);
    ASSERT_TRUE(has_priorities(index.priorities));
    EXPECT_EQ(priorities_of(index), expected_priorities(catalogue));
    EXPECT_EQ(index.header.info.format_minor, 4);
    expect_verified(index);
    const Damaged file(bytes_of(index));
    EXPECT_EQ(priorities_of(file.open(SIDBEAM_VERIFY_FULL)), priorities_of(index));
    if (HasFailure()) break;
  }
}

TEST(IndexPriorities, OrderCallsAndThreadsDoNotChangeTheBytes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TestCatalogue catalogue = random_priorities(random);
    catalogue.with_ids = true;  // otherwise the id is the row, and order matters
    const std::vector<uint8_t> bytes = bytes_of(build(catalogue));
    std::shuffle(catalogue.pairs.begin(), catalogue.pairs.end(), random);
    EXPECT_EQ(bytes_of(build(catalogue, 3, 1 + random() % 7)), bytes);
    if (HasFailure()) break;
  }
}

// Several chunks of rows, which threads write side by side.
TEST(IndexPriorities, LargeCataloguesAreTheSameOnManyThreads) {
  TestCatalogue catalogue;
  catalogue.codes = {1000, 1000};
  catalogue.with_priorities = catalogue.keep_priorities = true;
  std::mt19937_64 random(2);
  for (int64_t i = 0; i < 700000; ++i)
    catalogue.pairs.push_back({{static_cast<int32_t>(random() % 1000), static_cast<int32_t>(i % 1000)},
                               i,
                               "",
                               static_cast<int64_t>(random() % 100000)});
  const Index index = build(catalogue);
  expect_verified(index);
  EXPECT_EQ(priorities_of(index), expected_priorities(catalogue));
  EXPECT_EQ(bytes_of(build(catalogue, 4, 3)), bytes_of(index));
}

// The rest of the file is as without them, and without them it is as it was.
TEST(IndexPriorities, NothingElseOfTheFileChanges) {
  std::mt19937_64 random(9);
  for (int repeat = 0; repeat < 30; ++repeat) {
    TestCatalogue catalogue = random_priorities(random);
    const Index with = build(catalogue);
    catalogue.keep_priorities = false;
    const Index without = build(catalogue);
    EXPECT_FALSE(has_priorities(without.priorities));
    EXPECT_EQ(without.header.info.format_minor, 2);
    EXPECT_STREQ(with.header.info.fingerprint, without.header.info.fingerprint);
    const Damaged a(bytes_of(with)), b(bytes_of(without));
    EXPECT_EQ(section_of(b.header), nullptr);
    EXPECT_FALSE(b.header.shape.priorities.has_value());
    ASSERT_EQ(a.header.sections.size(), b.header.sections.size() + (section_of(a.header) != nullptr));
    for (size_t i = 0; i < b.header.sections.size(); ++i)
      EXPECT_EQ(a.header.sections[i].checksum, b.header.sections[i].checksum);
  }
}

TEST(IndexPriorities, TakeAsFewBytesAsTheirRangeAllows) {
  const auto check = [](int64_t least, int64_t greatest, Encoding encoding) {
    SCOPED_TRACE(::testing::Message() << least << " to " << greatest);
    const Index index = build(catalogue_of({{greatest, least}, {least}}));
    const Damaged file(bytes_of(index));
    const Section* section = section_of(file.header);
    ASSERT_EQ(section != nullptr, encoding != Encoding::None);
    if (section != nullptr) {
      EXPECT_EQ(section->spec.encoding, encoding);
      EXPECT_EQ(section->spec.length, 3 * element_bytes(encoding));
      EXPECT_FALSE(section->spec.required);
    }
    EXPECT_TRUE(has_priorities(index.priorities));
    EXPECT_EQ(priorities_of(index), std::vector<int64_t>({greatest, least, least}));
    expect_verified(index);
  };
  for (const int64_t equal : {int64_t{0}, int64_t{-5}, kLeast, kMost}) check(equal, equal, Encoding::None);
  check(-1, 0, Encoding::U16);
  check(-3, 65532, Encoding::U16);
  check(-3, 65533, Encoding::U32);
  check(kLeast, kLeast + 65535, Encoding::U16);
  check(-1, 4294967294, Encoding::U32);
  check(-1, 4294967295, Encoding::U64);
  check(kMost - 4294967295, kMost, Encoding::U32);
  check(kLeast, 0, Encoding::U64);
  check(0, kMost, Encoding::U64);
  check(kLeast, kMost, Encoding::U64);
}

TEST(IndexPriorities, PairsThatNeverHadAnyHaveZero) {
  TestCatalogue catalogue = catalogue_of({{0, 0}, {0}});
  catalogue.with_priorities = false;
  const Index index = build(catalogue);
  EXPECT_TRUE(has_priorities(index.priorities));
  EXPECT_EQ(priorities_of(index), std::vector<int64_t>(3, 0));
  catalogue.with_priorities = true;
  EXPECT_EQ(bytes_of(build(catalogue)), bytes_of(index));
}

// What is left out does not widen the range.
TEST(IndexPriorities, MergedPairsKeepTheHighestAndDroppedRowsNone) {
  TestCatalogue catalogue = catalogue_of({{3, 9}, {4}});
  catalogue.pairs.push_back({{0}, 0, "item-0", 5});
  catalogue.pairs.push_back({{0}, 1, "item-1", kLeast});
  for (const int32_t id_type : {SIDBEAM_ID_I64, SIDBEAM_ID_U64, SIDBEAM_ID_STRING}) {
    catalogue.id_type = id_type;
    catalogue.collisions = SIDBEAM_COLLISIONS_KEEP;
    const Index kept = build(catalogue);
    EXPECT_EQ(kept.header.info.merged_pairs, 2);
    EXPECT_EQ(priorities_of(kept), std::vector<int64_t>({9, 5, 4}));
    EXPECT_EQ(kept.priorities.least, 4);
    EXPECT_EQ(kept.priorities.greatest, 9);
    catalogue.collisions = SIDBEAM_COLLISIONS_FIRST;
    const Index first = build(catalogue);
    EXPECT_EQ(priorities_of(first), std::vector<int64_t>({9, 4}));
    expect_verified(first);
  }
}

// An index of what another one says, pair by pair, is the same file.
TEST(IndexPriorities, AnIndexMadeAgainIsTheSameFile) {
  for (uint64_t seed = 70; seed < 130; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TestCatalogue catalogue = random_priorities(random);
    const Index index = build(catalogue);
    if (index.header.info.merged_pairs > 0) continue;  // the header counts them
    TestCatalogue again = catalogue;
    again.pairs.clear();
    again.with_ids = again.with_priorities = true;
    for (uint64_t row = 0; row < index.view.items; ++row) {
      int32_t codes[kMaxLevels];
      const int length = sid_of(index.view, item_ordinal(index.view, row), codes);
      Pair pair{{codes, codes + length}, 0, "", item_priority(index.priorities, row)};
      if (catalogue.id_type == SIDBEAM_ID_STRING)
        pair.name = item_name(index.view, row);
      else
        pair.id = item_id(index.view, row);
      again.pairs.push_back(pair);
    }
    EXPECT_EQ(bytes_of(build(again)), bytes_of(index));
  }
}

TEST(IndexPriorities, PlansCountThem) {
  TestCatalogue catalogue = catalogue_of({{1, 100000}, {7}});
  Builder builder(catalogue.config(), 1, default_allocator());
  add_pairs(builder, catalogue, 0, catalogue.pairs.size());
  const Plan plan = builder.plan();
  const Index index = builder.finish();
  EXPECT_EQ(plan.info.file_bytes, index.bytes.size());
  ASSERT_EQ(plan.sections.size(), index.header.sections.size());
  EXPECT_EQ(plan.sections.back().kind, static_cast<uint16_t>(SectionKind::ItemPriorities));
  EXPECT_EQ(plan.sections.back().bytes, 12u);

  catalogue.codes = {1000, 1000};
  const Plan with = estimate_plan(catalogue.config(), 100000);
  catalogue.keep_priorities = false;
  const Plan without = estimate_plan(catalogue.config(), 100000);
  EXPECT_EQ(with.info.section_count, without.info.section_count + 1);
  EXPECT_EQ(with.sections.back().bytes, 800000u);
  EXPECT_GE(with.info.file_bytes, without.info.file_bytes + 800000);
  EXPECT_GE(with.info.peak_bytes, without.info.peak_bytes + 800000);
}

// The header then no longer says that there are priorities. It is shorter, and the rest stays where it is.
void drop_range(Damaged& file) {
  file.header.shape.priorities.reset();
  std::memset(file.bytes.data(), 0, file.header.sections[0].offset);
  file.seal();
}

// As readers before 1.4 see the file: a field that they do not read, and an optional section of an unknown kind.
TEST(IndexPriorities, ReadersThatDoNotKnowThemReadOn) {
  Damaged file(bytes_of(build(catalogue_of({{5, 3, 1}, {2}}))));
  file.entry(SectionKind::ItemPriorities, -1).spec.kind = static_cast<SectionKind>(999);
  drop_range(file);
  const Index index = file.open(SIDBEAM_VERIFY_FULL);
  EXPECT_FALSE(has_priorities(index.priorities));
  EXPECT_EQ(index.view.items, 4u);
}

std::vector<uint8_t> specimen() { return bytes_of(build(catalogue_of({{5, 3, 3, 1}, {2}, {9, 9}}))); }

TEST(IndexPriorities, FullVerificationSaysWhatCannotBe) {
  const auto expect = [](const char* text, auto&& damage) {
    Damaged file(specimen());
    damage(file);
    EXPECT_FAILS(SIDBEAM_CORRUPT, "section item_priorities: wrong checksum", file.open(SIDBEAM_VERIFY_CHECKSUMS));
    file.seal();
    EXPECT_NO_THROW(file.open(SIDBEAM_VERIFY_CHECKSUMS));
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_FULL));
  };
  const auto above = [](Damaged& file, uint64_t row) -> uint16_t& {
    return file.at<uint16_t>(SectionKind::ItemPriorities, -1, row);
  };
  expect("section item_priorities: item row 1 has 6 after 5 of the same SID, which rises",
         [&](Damaged& file) { above(file, 1) = 5; });
  expect("section item_priorities: they are 1 to 12, the header says 1 to 9",
         [&](Damaged& file) { above(file, 5) = 11; });
  expect("section item_priorities: they are 1 to 65536, the header says 1 to 9",
         [&](Damaged& file) { above(file, 4) = 65535; });
  expect("section item_priorities: they are 2 to 9, the header says 1 to 9",
         [&](Damaged& file) { above(file, 3) = 1; });
}

TEST(IndexPriorities, IdsRiseAmongEqualOnes) {
  for (const bool equal : {false, true}) {
    for (const int32_t id_type : {SIDBEAM_ID_I64, SIDBEAM_ID_U64, SIDBEAM_ID_STRING}) {
      TestCatalogue catalogue = catalogue_of({{3, 3, equal ? 3 : 1}, {3}});
      catalogue.id_type = id_type;
      const bool named = id_type == SIDBEAM_ID_STRING;
      Damaged file(bytes_of(build(catalogue)));
      if (named)
        std::swap(file.at<char>(SectionKind::ItemNames, -1, 5), file.at<char>(SectionKind::ItemNames, -1, 11));
      else
        std::swap(file.at<int64_t>(SectionKind::ItemIds, -1, 0), file.at<int64_t>(SectionKind::ItemIds, -1, 1));
      file.seal();
      const std::string section = !equal ? "item_priorities" : named ? "item_names" : "item_ids";
      EXPECT_FAILS(SIDBEAM_CORRUPT,
                   "section " + section + ": item rows 0 and 1 of a SID both have priority 3, and ids that do not rise",
                   file.open(SIDBEAM_VERIFY_FULL));
    }
  }
  // Unsigned ids rise as such.
  TestCatalogue catalogue = catalogue_of({{3, 3}});
  catalogue.id_type = SIDBEAM_ID_U64;
  catalogue.pairs[0].id = -1;
  expect_verified(build(catalogue));
}

TEST(IndexPriorities, HeadersThatPromiseWhatIsNotThereAreRefused) {
  const auto expect = [](const char* text, auto&& change) {
    Damaged file(specimen());
    change(file.header);
    file.seal();
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_HEADER));
  };
  const auto entry = [](FileHeader& header) -> Section& { return const_cast<Section&>(*section_of(header)); };
  expect("the header's least priority is 1, expected at most the greatest, 0",
         [](FileHeader& header) { header.shape.priorities->greatest = 0; });
  expect("section item_priorities has encoding u16 (1), expected u32",
         [](FileHeader& header) { header.shape.priorities->greatest = 70000; });
  expect("section item_priorities has encoding u16 (1), expected u64", [](FileHeader& header) {
    header.shape.priorities = {kLeast, kMost};
  });
  expect("section item_priorities is not expected, or not twice",
         [](FileHeader& header) { header.shape.priorities->greatest = header.shape.priorities->least; });
  expect("section item_priorities has 12 bytes, expected 14", [&](FileHeader& h) { entry(h).spec.length = 12; });
  expect("expected a multiple of 64", [&](FileHeader& h) { entry(h).offset += 8; });
  expect("section item_priorities is missing",
         [&](FileHeader& h) { entry(h).spec.kind = static_cast<SectionKind>(999); });
  expect("section item_priorities of level 0 is not expected", [&](FileHeader& h) { entry(h).spec.level = 0; });
}

TEST(IndexPriorities, ASectionThatTheHeaderDoesNotNameIsRefused) {
  Damaged file(specimen());
  drop_range(file);
  EXPECT_FAILS(SIDBEAM_CORRUPT, "section item_priorities is not expected, or not twice",
               file.open(SIDBEAM_VERIFY_HEADER));
}

TEST(IndexPriorities, RandomContentsAreReadWithoutHarm) {
  std::mt19937_64 random(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Damaged file(bytes_of(build(catalogue_of({{kMost, 3, 3, kLeast}, {2}, {9, 9}}))));
    const Section& section = file.entry(SectionKind::ItemPriorities, -1);
    for (uint64_t i = 0; i < section.spec.length; ++i)
      file.bytes[static_cast<int64_t>(section.offset + i)] = static_cast<uint8_t>(random());
    file.seal();
    EXPECT_EQ(priorities_of(file.open(SIDBEAM_VERIFY_HEADER)).size(), 7u);
    EXPECT_EQ(failure_of([&] { file.open(SIDBEAM_VERIFY_FULL); }).status, SIDBEAM_CORRUPT);
  }
}

}  // namespace
}  // namespace sidbeam::testing
