// An index gives back exactly what was put in, whatever its shape and kinds.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "index/read/items.h"
#include "index/read/lookup.h"
#include "index/read/rising_sids.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

std::string name_of(const IndexView& view, uint64_t row) {
  return {view.names + view.name_offsets[row], view.names + view.name_offsets[row + 1]};
}

void expect_items(const IndexView& view, uint64_t ordinal, const std::vector<Model::Item>& items) {
  const OrdinalRange rows = item_rows(view, ordinal);
  ASSERT_EQ(rows.hi - rows.lo, items.size()) << "ordinal " << ordinal;
  for (uint64_t i = 0; i < items.size(); ++i) {
    if (view.id_type == IdType::kString) {
      EXPECT_EQ(name_of(view, rows.lo + i), items[i].name);
    } else {
      EXPECT_EQ(view.ids[rows.lo + i], items[i].id);
    }
  }
}

using Ranges = std::map<std::vector<int32_t>, OrdinalRange>;

// The ordinal range of every prefix of every SID.
Ranges ranges_of(const TestCatalogue& catalogue, const Model& model) {
  Ranges ranges;
  uint64_t ordinal = 0;
  for (const auto& [padded, items] : model.sids) {
    std::vector<int32_t> prefix;
    for (size_t l = 0;; ++l) {
      auto [place, fresh] = ranges.try_emplace(prefix, OrdinalRange{ordinal, ordinal + 1});
      if (!fresh) place->second.hi = ordinal + 1;
      if (l == padded.size() || padded[l] == catalogue.codes[l]) break;
      prefix.push_back(padded[l]);
    }
    ++ordinal;
  }
  return ranges;
}

void expect_prefixes(const TestCatalogue& catalogue, const Index& index, const Ranges& ranges) {
  int64_t nodes[kMaxLevels + 1] = {};
  for (const auto& [prefix, range] : ranges) {
    const OrdinalRange found = prefix_ordinals(index.view, prefix.data(), static_cast<int>(prefix.size()));
    EXPECT_EQ(found.lo, range.lo) << ::testing::PrintToString(prefix);
    EXPECT_EQ(found.hi, range.hi) << ::testing::PrintToString(prefix);
    ++nodes[prefix.size()];
  }
  for (int l = 0; l < catalogue.levels(); ++l)
    EXPECT_EQ(index.header.nodes[static_cast<size_t>(l)], nodes[l + 1]) << "level " << l;
}

void expect_strangers_absent(const TestCatalogue& catalogue, const Index& index, const Model& model,
                             std::mt19937_64& random) {
  for (int i = 0; i < 200; ++i) {
    std::vector<int32_t> sid;
    const size_t length = catalogue.variable_length ? 1 + random() % catalogue.codes.size() : catalogue.codes.size();
    for (size_t l = 0; l < length; ++l)
      sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(catalogue.codes[l])));
    std::vector<int32_t> padded = sid;
    for (size_t l = length; l < catalogue.codes.size(); ++l) padded.push_back(catalogue.codes[l]);
    const auto place = model.sids.find(padded);
    const int64_t expected = place == model.sids.end() ? -1 : std::distance(model.sids.begin(), place);
    EXPECT_EQ(find_sid(index.view, sid.data(), static_cast<int>(length)), expected);
    sid[random() % length] = random() % 2 == 0 ? -1 : catalogue.codes[0] + SIDBEAM_MAX_CODES;
    EXPECT_EQ(find_sid(index.view, sid.data(), static_cast<int>(length)), -1);
    const OrdinalRange none = prefix_ordinals(index.view, sid.data(), static_cast<int>(length));
    EXPECT_EQ(none.lo, none.hi);
  }
}

void expect_equal(const TestCatalogue& catalogue, const Index& index, const Model& model) {
  const IndexView& view = index.view;
  const sidbeam_index_info& info = index.header.info;
  ASSERT_EQ(view.sids, model.sids.size());
  EXPECT_EQ(info.items, model.items);
  EXPECT_EQ(info.merged_pairs, model.merged_pairs);
  EXPECT_EQ(info.collisions, model.collisions);
  EXPECT_EQ(info.max_items_per_sid, model.max_items);
  uint64_t ordinal = 0;
  int shortest = kMaxLevels, longest = 0;
  for (const auto& [padded, items] : model.sids) {
    int32_t codes[kMaxLevels];
    const int length = sid_of(view, ordinal, codes);
    std::vector<int32_t> found(codes, codes + length);
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
    EXPECT_EQ(find_sid(view, codes, length), static_cast<int64_t>(ordinal));
    for (size_t l = found.size(); l < catalogue.codes.size(); ++l) found.push_back(catalogue.codes[l]);
    EXPECT_EQ(found, padded) << "ordinal " << ordinal;
    if (view.hash.keys != nullptr) {
      EXPECT_EQ(hash_find(view, padded.data()), static_cast<int64_t>(ordinal));
    }
    expect_items(view, ordinal++, items);
  }
  EXPECT_EQ(info.shortest, shortest);
  EXPECT_EQ(info.longest, longest);
}

// Rows that are read in their order, some of them left out, give what each gives by itself.
void expect_rising(const IndexView& view, std::mt19937_64& random) {
  RisingOrdinals ordinals(view);
  RisingSids sids(view);
  const uint64_t step = 1 + random() % 9;
  for (uint64_t row = random() % step; row < view.items; row += 1 + random() % step) {
    const uint64_t ordinal = ordinals.of(row);
    ASSERT_EQ(ordinal, item_ordinal(view, row));
    int32_t codes[kMaxLevels], expected[kMaxLevels];
    const int length = sids.read(ordinal, codes);
    ASSERT_EQ(length, sid_of(view, ordinal, expected)) << "ordinal " << ordinal;
    ASSERT_TRUE(std::equal(codes, codes + length, expected)) << "ordinal " << ordinal;
  }
}

TEST(IndexRoundTrip, RandomCataloguesComeBackWhole) {
  const uint64_t first_seed = 20240601;
  for (uint64_t seed = first_seed; seed < first_seed + 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const TestCatalogue catalogue = random_catalogue(random);
    const Model model(catalogue);
    const Index index = build(catalogue);
    expect_verified(index);
    expect_equal(catalogue, index, model);
    expect_rising(index.view, random);
    expect_prefixes(catalogue, index, ranges_of(catalogue, model));
    expect_strangers_absent(catalogue, index, model, random);
    if (HasFailure()) break;
  }
}

// Keys of one word, of two, and of the most there are; and codes at both ends of their range.
TEST(IndexRoundTrip, KeysOfAnyWidthSort) {
  for (const int levels : {1, 3, 6, 13, 64, kMaxLevels}) {
    for (const int32_t codes : {1, 2, 2048, 1 << 20, 1 << 24}) {
      for (const bool variable : {false, true}) {
        SCOPED_TRACE(::testing::Message() << levels << " levels of " << codes << (variable ? ", variable" : ""));
        TestCatalogue catalogue;
        catalogue.codes.assign(static_cast<size_t>(levels), codes - (variable && codes > 1 ? 1 : 0));
        catalogue.variable_length = variable;
        catalogue.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH;
        std::mt19937_64 random(7);
        for (int i = 0; i < 50; ++i) {
          Pair pair;
          const auto last = static_cast<uint64_t>(catalogue.codes[0]) - 1;
          const auto length = variable ? 1 + random() % static_cast<uint64_t>(levels) : static_cast<uint64_t>(levels);
          for (uint64_t l = 0; l < length; ++l)
            pair.sid.push_back(static_cast<int32_t>(random() % 3 == 0 ? last : random() % (last + 1)));
          pair.id = i;
          catalogue.pairs.push_back(pair);
        }
        const Index index = build(catalogue);
        expect_verified(index);
        expect_equal(catalogue, index, Model(catalogue));
      }
    }
  }
}

TEST(IndexRoundTrip, OneSidIsAnIndex) {
  TestCatalogue catalogue;
  catalogue.codes = {1};
  catalogue.pairs = {{{0}, 42, "", 0}};
  const Index index = build(catalogue);
  expect_verified(index);
  EXPECT_EQ(index.view.sids, 1u);
  EXPECT_EQ(index.view.ids[0], 42);
}

TEST(IndexRoundTrip, DenseNodesAgreeWithTheirLists) {
  TestCatalogue catalogue;
  catalogue.codes = {700, 300};
  for (int32_t a = 0; a < 700; a += 2) {
    for (int32_t b = 0; b < (a % 8 == 0 ? 300 : 3); ++b) catalogue.pairs.push_back({{a, b}, a * 1000 + b, "", 0});
  }
  const Index index = build(catalogue);
  EXPECT_EQ(index.view.level[0].dense_nodes, 1u);
  EXPECT_EQ(index.view.level[1].dense_nodes, 88u);
  expect_verified(index);
}

TEST(IndexRoundTrip, TokensWidenWhereTheEndNeedsIt) {
  TestCatalogue catalogue;
  catalogue.codes = {65536, 65535};
  catalogue.pairs = {{{65535, 65534}, 1, "", 0}, {{0, 0}, 2, "", 0}};
  const Index fixed = build(catalogue);
  EXPECT_EQ(fixed.view.level[0].tokens.width, 2);
  catalogue.variable_length = true;
  const Index variable = build(catalogue);
  EXPECT_EQ(variable.view.level[0].tokens.width, 4);
  EXPECT_EQ(variable.view.level[1].tokens.width, 2);
}

}  // namespace
}  // namespace sidbeam::testing
