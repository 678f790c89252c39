// The compact form of a trie: the same answers as the ordinary one, states that are exactly the trie's, and errors that
// name the damage.
// SPDX-License-Identifier: Apache-2.0
#include "index/tail.h"

#include <gtest/gtest.h>

#include <set>

#include "index/read/children.h"
#include "index/read/state.h"
#include "index_damage.h"

namespace sidbeam::testing {
namespace {

using format::SectionKind;

Index build_as(TestCatalogue catalogue, int32_t kinds) {
  catalogue.kinds = kinds;
  return build(catalogue);
}
Index compact(const TestCatalogue& catalogue) { return build_as(catalogue, SIDBEAM_KIND_COMPACT_TRIE); }

bool has_tail(const Index& index) { return index.view.csr_levels < index.view.levels; }

// Every state of a trie with the ordinals below it, in the order of a walk.
void walk(const IndexView& index, const State& state, std::vector<std::pair<int64_t, OrdinalRange>>& out) {
  out.push_back({encode_state(state), state_ordinals(index, state)});
  if (state.ended || state.level == index.levels) return;
  std::vector<uint32_t> tokens;
  for_each_child(index, state, [&](uint32_t token) { tokens.push_back(token); });
  for (const uint32_t token : tokens) {
    State next = state;
    ASSERT_TRUE(follow(index, next, token));
    walk(index, next, out);
  }
}
std::vector<std::pair<int64_t, OrdinalRange>> all_states(const Index& index) {
  std::vector<std::pair<int64_t, OrdinalRange>> out;
  walk(index.view, {}, out);
  return out;
}

// So many SIDs below a prefix that the tail begins some levels down, and SIDs end above it.
TestCatalogue crowded_catalogue(std::mt19937_64& random) {
  TestCatalogue out;
  out.codes = {2, 3, 2, 5, 40000};
  out.variable_length = true;
  for (int64_t i = 0; i < 700; ++i) {
    std::vector<int32_t> sid;
    for (const int32_t codes : out.codes) sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(codes)));
    if (random() % 4 == 0) sid.resize(1 + random() % sid.size());
    out.pairs.push_back({sid, i, "", 0});
  }
  return out;
}

TEST(Tail, WalksAsTheOrdinaryTrieDoes) {
  const uint64_t first_seed = 20261122;
  int64_t tails = 0, bitmaps = 0, wide = 0, ends = 0, deep_ends = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const TestCatalogue catalogue = seed % 10 == 0 ? crowded_catalogue(random) : random_catalogue(random);
    const Index plain = build_as(catalogue, SIDBEAM_KIND_TRIE), small = compact(catalogue);
    EXPECT_STREQ(plain.header.info.fingerprint, small.header.info.fingerprint);
    EXPECT_EQ(small.header.info.kinds, SIDBEAM_KIND_TRIE | (has_tail(small) ? SIDBEAM_KIND_COMPACT_TRIE : 0));
    const auto expected = all_states(plain), found = all_states(small);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].second.lo, expected[i].second.lo);
      ASSERT_EQ(found[i].second.hi, expected[i].second.hi);
      const State state = decode_state(found[i].first);
      ASSERT_EQ(state.level, decode_state(expected[i].first).level);
      ASSERT_EQ(state.ended, is_ended(expected[i].first));
      if (state.ended || state.level == small.view.levels) {
        ASSERT_EQ(sid_ordinal(small.view, state), expected[i].second.lo);
      }
      ends += state.ended && state.level < small.view.csr_levels;  // lies between two nodes of level T
      deep_ends += state.ended && state.level > small.view.csr_levels;
    }
    for (uint64_t ordinal = 0; ordinal < plain.view.sids; ++ordinal) {
      int32_t there[kMaxLevels], here[kMaxLevels];
      const int length = sid_of(plain.view, ordinal, there);
      ASSERT_EQ(sid_of(small.view, ordinal, here), length) << "ordinal " << ordinal;
      ASSERT_TRUE(std::equal(there, there + length, here)) << "ordinal " << ordinal;
      ASSERT_EQ(find_sid(small.view, here, length), static_cast<int64_t>(ordinal));
    }
    tails += has_tail(small);
    bitmaps += small.view.tail.splits != nullptr;
    wide += small.view.tail.tokens.width == 4;
  }
  for (const int64_t count : {tails, bitmaps, wide, ends, deep_ends}) EXPECT_GT(count, 10);
}

// Every word near a state is one itself or is refused.
TEST(Tail, OnlyItsOwnStatesAreStates) {
  const uint64_t first_seed = 4711;
  for (uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Index index = compact(random_catalogue(random));
    std::set<int64_t> states;
    for (const auto& [word, range] : all_states(index)) states.insert(word);
    for (const int64_t word : states) {
      ASSERT_TRUE(is_trie_state(index.view, word)) << word;
      for (int bit = 0; bit < 64; ++bit) {
        const int64_t other = word ^ static_cast<int64_t>(uint64_t{1} << bit);
        ASSERT_EQ(is_trie_state(index.view, other), states.count(other) != 0) << word << " bit " << bit;
      }
      for (const int64_t step : {int64_t{1}, int64_t{1} << kOrdinalBits, int64_t{1} << kLevelShift}) {
        ASSERT_EQ(is_trie_state(index.view, word + step), states.count(word + step) != 0) << word << " + " << step;
        ASSERT_EQ(is_trie_state(index.view, word - step), states.count(word - step) != 0) << word << " - " << step;
      }
    }
  }
}

TEST(Tail, BeginsWhereTheLongestRunFits) {
  for (const int32_t sharing : {63, 64, 65, 1000}) {
    TestCatalogue catalogue;
    catalogue.codes = {4, 100, 5, 30};
    for (int32_t i = 0; i < sharing; ++i) catalogue.pairs.push_back({{1, i % 100, i / 100 % 5, i / 500}, i, "", 0});
    catalogue.pairs.push_back({{0, 0, 0, 0}, -1, "", 0});
    catalogue.pairs.push_back({{3, 99, 4, 29}, -2, "", 0});
    const Index index = compact(catalogue);
    EXPECT_EQ(index.view.csr_levels, sharing <= 64 ? 1 : 2) << sharing;
    EXPECT_TRUE(index.view.level[index.view.csr_levels].ordinals);
    expect_verified(index);
  }
}

TEST(Tail, IsNotThereWhereNoLevelQualifies) {
  TestCatalogue crowded, flat;
  crowded.codes = {3, 70};
  for (int32_t i = 0; i < 65; ++i) crowded.pairs.push_back({{1, i}, i, "", 0});
  flat.codes = {70};
  flat.pairs = {{{0}, 1, "", 0}, {{69}, 2, "", 0}};
  for (const TestCatalogue& catalogue : {crowded, flat}) {
    const Index index = compact(catalogue);
    EXPECT_FALSE(has_tail(index));
    EXPECT_EQ(bytes_of(index), bytes_of(build_as(catalogue, SIDBEAM_KIND_TRIE)));
  }
}

TEST(Tail, OneSidIsATail) {
  TestCatalogue catalogue;
  constexpr int32_t kLast = SIDBEAM_MAX_CODES - 1;
  catalogue.codes = {1, 8, SIDBEAM_MAX_CODES};
  catalogue.pairs = {{{0, 7, kLast}, 42, "", 0}, {{0, 7, kLast}, 43, "", 0}};
  const Index index = compact(catalogue);
  ASSERT_TRUE(has_tail(index));
  expect_verified(index);
  EXPECT_EQ(find_sid(index.view, catalogue.pairs[0].sid.data(), 3), 0);
  EXPECT_EQ(item_rows(index.view, 0).hi, 2u);
}

TEST(Tail, SplitsAreWhereThereIsRoomForThem) {
  struct {
    int32_t codes;
    bool variable;
    int width;
    bool bitmap;
  } const forms[] = {{100, false, 2, false},  {32768, false, 2, false}, {32769, false, 2, true},
                     {32767, true, 2, false}, {32768, true, 2, true},   {65536, false, 2, true},
                     {65535, true, 2, true},  {65537, false, 4, false}, {65536, true, 4, false}};
  for (const auto& form : forms) {
    SCOPED_TRACE(::testing::Message() << form.codes << (form.variable ? ", variable" : ""));
    TestCatalogue catalogue;
    catalogue.codes = {3, 5, form.codes};
    catalogue.variable_length = form.variable;
    for (int32_t i = 0; i < 150; ++i)
      catalogue.pairs.push_back({{i % 3, i % 5, i % 2 == 0 ? form.codes - 1 - i / 8 : i / 8}, i, "", 0});
    if (form.variable) catalogue.pairs.push_back({{2, 4}, 1000, "", 0});
    const Index index = compact(catalogue);
    ASSERT_TRUE(has_tail(index));
    expect_verified(index);
    EXPECT_EQ(index.view.tail.tokens.width, form.width);
    EXPECT_EQ(index.view.tail.splits != nullptr, form.bitmap);
    for (uint64_t ordinal = 0; ordinal < index.view.sids; ++ordinal) {
      int32_t codes[3];
      EXPECT_EQ(find_sid(index.view, codes, sid_of(index.view, ordinal, codes)), static_cast<int64_t>(ordinal));
    }
  }
}

TEST(Tail, EstimateIsCloseForUniformSids) {
  TestCatalogue catalogue;
  catalogue.codes = {256, 256, 256, 256};
  catalogue.collisions = SIDBEAM_COLLISIONS_FIRST;
  catalogue.kinds = SIDBEAM_KIND_COMPACT_TRIE;
  std::mt19937_64 random(3);
  for (int64_t i = 0; i < 50000; ++i) {
    Pair pair{{}, i, "", 0};
    for (int l = 0; l < 4; ++l) pair.sid.push_back(static_cast<int32_t>(random() % 256));
    catalogue.pairs.push_back(pair);
  }
  const Index index = build(catalogue);
  EXPECT_EQ(index.view.csr_levels, 2);
  const Plan plan = estimate_plan(catalogue.config(), static_cast<int64_t>(index.view.sids));
  EXPECT_NEAR(static_cast<double>(plan.info.file_bytes), static_cast<double>(index.bytes.size()), 10000);
  const auto bytes_of_level_2 = [&](SectionKind kind) {
    uint64_t bytes = 0;
    for (const SectionInfo& section : plan.sections)
      if (section.kind == static_cast<uint16_t>(kind) && section.level == 2) bytes += section.bytes;
    return bytes;
  };
  EXPECT_EQ(bytes_of_level_2(SectionKind::Tail), index.view.sids * 2 * 2);
  EXPECT_EQ(bytes_of_level_2(SectionKind::Tokens), 0);
  EXPECT_EQ(bytes_of_level_2(SectionKind::RowPointers), 0);
  EXPECT_GT(bytes_of_level_2(SectionKind::Ordinals), 0);
}

// A file of a compact trie, to be damaged under right checksums.
struct DamagedTail : Damaged {
  explicit DamagedTail(const TestCatalogue& catalogue) : Damaged(bytes_of(compact(catalogue))) {}
  template <class Word>
  Word& entry(SectionKind kind, uint64_t i) {
    return at<Word>(kind, kind == SectionKind::RowPointers ? 0 : tail(), i);
  }
  int tail() const { return header.shape.tail_level; }
  void expect(const char* text) {
    seal();
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, open(SIDBEAM_VERIFY_FULL));
  }
};

constexpr uint16_t kSplit = 0x8000;

// Ordinals 0 (0,0,0) 1 (0,0,1) 2 (0,1,1) 3 (1,0,0): T is 1.
TestCatalogue four_sids(int32_t codes) {
  TestCatalogue catalogue;
  catalogue.codes = {3, codes, codes};
  catalogue.pairs = {{{0, 0, 0}, 0, "", 0}, {{0, 0, 1}, 1, "", 0}, {{0, 1, 1}, 2, "", 0}, {{1, 0, 0}, 3, "", 0}};
  return catalogue;
}

TEST(Tail, VerifyNamesWhatIsDamaged) {
  const auto damage = [](uint64_t i, uint16_t value, const char* text) {
    DamagedTail file(four_sids(4));
    ASSERT_EQ(file.tail(), 1);
    file.entry<uint16_t>(SectionKind::Tail, i) = value;
    file.expect(text);
  };
  damage(1, 4 | kSplit, "section tail of level 1: SID 0 has 4 at level 2, expected less than 4");
  damage(0, 0, "section tail of level 1: SID 0 begins no edge at level 1, which its codes deny");
  damage(2, 0 | kSplit, "section tail of level 1: SID 1 begins an edge at level 1, which its codes deny");
  damage(3, 0, "section tail of level 1: SID 1 is there twice");
  damage(4, 0 | kSplit, "section tail of level 1: SID 2 begins an edge at level 1, which its codes deny");
  damage(1, 2 | kSplit, "section tail of level 1: SID 1 falls at level 2 (1 after 2)");
  damage(7, 2 | kSplit, "the header's fingerprint is");
}

TEST(Tail, VerifyNamesADamagedBitmap) {
  DamagedTail file(four_sids(40000));
  file.entry<uint64_t>(SectionKind::TailSplits, 0) ^= uint64_t{1} << 2;
  file.expect("section tail_splits of level 1: SID 1 begins an edge at level 1, which its codes deny");
  file.entry<uint64_t>(SectionKind::TailSplits, 0) ^= uint64_t{1} << 2 | uint64_t{1} << 8;
  file.expect("section tail_splits of level 1: bits past the last, 8, are set");
}

TEST(Tail, VerifyNamesDamagedOrdinals) {
  const auto damage = [](uint64_t i, uint32_t value, const char* text) {
    DamagedTail file(four_sids(4));
    file.entry<uint32_t>(SectionKind::Ordinals, i) = value;
    file.expect(text);
  };
  damage(0, 1, "section ordinals of level 1: entry 0 is 1, expected 0: no node has that SID");
  damage(1, 2, "section tail of level 1: SID 3 falls at level 1 (0 after 1)");
  damage(2, 3, "section ordinals of level 1: entry 2 is 3, expected the next node's first ordinal, or 4 last");
}

TEST(Tail, VerifyRefusesRunsThatAreTooLong) {
  TestCatalogue catalogue;
  catalogue.codes = {2, 100};
  for (int32_t i = 0; i < 80; ++i) catalogue.pairs.push_back({{i / 40, i}, i, "", 0});
  DamagedTail file(catalogue);
  file.entry<uint32_t>(SectionKind::Ordinals, 1) = 70;
  file.expect("section ordinals of level 1: node 0 has more than 64 SIDs");
}

TEST(Tail, HeadersMustMakeSense) {
  DamagedTail file(four_sids(4));
  file.header.shape.tail_level = 3;
  file.expect("the header's tail_level is 3, expected at most 2");
  DamagedTail other(four_sids(4));
  other.header.shape.tail_level = 2;
  other.expect("section tail of level 1 is not expected");
  DamagedTail none(four_sids(4));
  none.header.shape.tail_level = 0;
  none.expect("section tail of level 1 is not expected");
}

}  // namespace
}  // namespace sidbeam::testing
