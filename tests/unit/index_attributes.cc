// Attributes: what is given comes back with the item that it was given with, in the same bytes whatever the order.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "index_attribute_columns.h"

namespace sidbeam::testing {
namespace {

TestCatalogue small(std::vector<Pair> pairs) {
  TestCatalogue out;
  out.codes = {4, 4};
  out.pairs = std::move(pairs);
  return out;
}

// By SID, padded with V_l, id and name: the value of each column, of all pairs that say so.
std::map<std::tuple<std::vector<int32_t>, int64_t, std::string>, std::vector<Value>> model(
    const TestCatalogue& catalogue, const std::vector<TestColumn>& columns) {
  std::map<std::tuple<std::vector<int32_t>, int64_t, std::string>, std::vector<Value>> out;
  for (size_t i = 0; i < catalogue.pairs.size(); ++i) {
    const Pair& pair = catalogue.pairs[i];
    const bool named = catalogue.id_type == SIDBEAM_ID_STRING;
    auto& values = out[{pair.sid, named ? 0 : pair.id, named ? pair.name : ""}];
    values.resize(columns.size());
    for (size_t c = 0; c < columns.size(); ++c)
      if (columns[c].values[i].index() != 0) values[c] = columns[c].values[i];
  }
  return out;
}

TEST(IndexAttributes, EveryValueComesBackWithItsItem) {
  std::mt19937_64 random(5);
  for (int repeat = 0; repeat < 60; ++repeat) {
    TestCatalogue catalogue = random_catalogue(random);
    catalogue.with_ids = true;
    const std::vector<TestColumn> columns = random_columns(catalogue, random);
    const auto expected = model(catalogue, columns);
    const Index index = build(catalogue, columns, 1 + repeat % 3, 1 + random() % 4);
    expect_verified(index);
    ASSERT_EQ(index.attributes.size(), columns.size());
    for (uint64_t row = 0; row < index.view.items; ++row) {
      int32_t codes[kMaxLevels];
      const int length = sid_of(index.view, item_ordinal(index.view, row), codes);
      const bool named = catalogue.id_type == SIDBEAM_ID_STRING;
      const auto found = expected.find({std::vector<int32_t>(codes, codes + length), named ? 0 : index.view.ids[row],
                                        named ? std::string(item_name(index.view, row)) : ""});
      ASSERT_NE(found, expected.end());
      for (size_t c = 0; c < columns.size(); ++c) {
        const Attribute* const attribute = find_attribute(index.attributes, columns[c].name);
        ASSERT_NE(attribute, nullptr);
        ASSERT_EQ(value_of(*attribute, row), found->second[c]) << columns[c].name << " of row " << row;
      }
    }
  }
}

TEST(IndexAttributes, SameBytesWhateverTheOrder) {
  std::mt19937_64 random(6);
  for (int repeat = 0; repeat < 20; ++repeat) {
    TestCatalogue catalogue = random_catalogue(random);
    catalogue.with_ids = true;
    std::vector<TestColumn> columns = random_columns(catalogue, random);
    const std::vector<uint8_t> expected = bytes_of(build(catalogue, columns));
    std::vector<size_t> order(catalogue.pairs.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    TestCatalogue other = catalogue;
    std::vector<TestColumn> mixed = columns;
    for (size_t i = 0; i < order.size(); ++i) {
      other.pairs[i] = catalogue.pairs[order[i]];
      for (size_t c = 0; c < columns.size(); ++c) mixed[c].values[i] = columns[c].values[order[i]];
    }
    std::shuffle(mixed.begin(), mixed.end(), random);
    EXPECT_EQ(bytes_of(build(other, mixed, 3, 1 + random() % 5)), expected);
  }
}

// A file without attributes is as it was before there were any; one with them has the same fingerprint.
TEST(IndexAttributes, OtherFilesStayAsTheyWere) {
  const TestCatalogue catalogue = small({{{1, 2}, 5, "", 0}});
  const Index plain = build(catalogue), with = build(catalogue, {{"price", SIDBEAM_ATTRIBUTE_I64, {int64_t{7}}}});
  EXPECT_EQ(plain.header.info.format_minor, 2);
  EXPECT_EQ(with.header.info.format_minor, 3);
  EXPECT_STREQ(plain.header.info.fingerprint, with.header.info.fingerprint);
  EXPECT_EQ(plain.header.info.attribute_count, 0);
  EXPECT_STREQ(plain.header.info.attribute_digest, std::string(32, '0').c_str());
  EXPECT_STRNE(with.header.info.attribute_digest, plain.header.info.attribute_digest);
  EXPECT_EQ(with.header.sections.size(), plain.header.sections.size() + 1);
}

TEST(IndexAttributes, TheDigestIsOfNamesTypesAndValues) {
  const TestCatalogue catalogue = small({{{1, 2}, 5, "", 0}, {{1, 3}, 6, "", 0}});
  const auto digest = [&](const char* name, int32_t type, std::vector<Value> values) {
    return std::string(build(catalogue, {{name, type, std::move(values)}}).header.info.attribute_digest);
  };
  const std::string one = digest("a", SIDBEAM_ATTRIBUTE_I64, {int64_t{1}, int64_t{0}});
  EXPECT_EQ(digest("a", SIDBEAM_ATTRIBUTE_I64, {int64_t{1}, int64_t{0}}), one);
  EXPECT_NE(digest("b", SIDBEAM_ATTRIBUTE_I64, {int64_t{1}, int64_t{0}}), one);
  EXPECT_NE(digest("a", SIDBEAM_ATTRIBUTE_I64, {int64_t{2}, int64_t{0}}), one);
  EXPECT_NE(digest("a", SIDBEAM_ATTRIBUTE_I64, {int64_t{1}, Value()}), one);
  EXPECT_NE(digest("a", SIDBEAM_ATTRIBUTE_BOOL, {true, false}), one);
}

TEST(IndexAttributes, RangesAndCountsAreInTheHeader) {
  TestCatalogue catalogue = small({{{0, 0}, 1, "", 0}, {{0, 1}, 2, "", 0}, {{1, 0}, 3, "", 0}, {{2, 0}, 4, "", 0}});
  const Value null;
  const Index index =
      build(catalogue, {{"i", SIDBEAM_ATTRIBUTE_I64, {int64_t{-3}, int64_t{9}, null, int64_t{2}}},
                        {"f", SIDBEAM_ATTRIBUTE_F32, {null, -0.5f, -INFINITY, -0.0f}},
                        {"b", SIDBEAM_ATTRIBUTE_BOOL, {true, true, null, true}},
                        {"s", SIDBEAM_ATTRIBUTE_STRING, {"b", "a", "", "b"}},
                        {"l",
                         SIDBEAM_ATTRIBUTE_STRING_LIST,
                         {std::vector<std::string>{"x", "y", "x"}, std::vector<std::string>{}, null, null}},
                        {"none", SIDBEAM_ATTRIBUTE_STRING, {null, null, null, null}}});
  expect_verified(index);
  const std::vector<AttributeShape>& shapes = index.header.attributes;  // b f i l none s
  EXPECT_EQ(shapes[2].least, -3);
  EXPECT_EQ(shapes[2].greatest, 9);
  EXPECT_EQ(shapes[2].nulls, 1u);
  EXPECT_EQ(shapes[1].least_number, -INFINITY);
  EXPECT_FALSE(std::signbit(shapes[1].greatest_number));
  EXPECT_EQ(shapes[0].least, 1);
  EXPECT_EQ(shapes[5].strings, 3u);
  EXPECT_EQ(shapes[5].nulls, 0u);
  EXPECT_EQ(shapes[3].codes, 2u);
  EXPECT_EQ(shapes[4].nulls, 4u);
  EXPECT_EQ(shapes[4].strings, 0u);
  EXPECT_EQ(value_of(index.attributes[3], 0), Value(std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(value_of(index.attributes[3], 1), Value(std::vector<std::string>{}));
  EXPECT_EQ(value_of(index.attributes[3], 2), null);
  EXPECT_EQ(index.attributes[5].valid, nullptr);
}

TEST(IndexAttributes, RowsThatAreGivenNoneAreNull) {
  const TestCatalogue catalogue = small({{{0, 0}, 1, "", 0}, {{0, 1}, 2, "", 0}, {{1, 0}, 3, "", 0}});
  const TestColumn given = {"i", SIDBEAM_ATTRIBUTE_I64, {int64_t{1}, int64_t{2}, int64_t{3}}};
  Builder builder(catalogue.config(), 1, default_allocator());
  declare(builder, {given, {"never", SIDBEAM_ATTRIBUTE_STRING_LIST, {}}});
  add_pairs(builder, catalogue, 0, 1);
  add_pairs(builder, catalogue, 1, 2);
  builder.set_attribute(Column(given, 1, 2, false, false).out, 1);
  add_pairs(builder, catalogue, 2, 3);
  const Index index = builder.finish();
  expect_verified(index);
  EXPECT_EQ(value_of(index.attributes[0], 0), Value());
  EXPECT_EQ(value_of(index.attributes[0], 1), Value(int64_t{2}));
  EXPECT_EQ(value_of(index.attributes[0], 2), Value());
  EXPECT_EQ(index.header.attributes[1].nulls, 3u);
}

TEST(IndexAttributes, MergedPairsMustAgree) {
  TestCatalogue catalogue = small({{{1, 2}, 5, "", 0}, {{1, 2}, 5, "", 9}, {{1, 2}, 6, "", 0}});
  catalogue.with_priorities = true;
  const auto of = [&](int32_t type, Value a, Value b) {
    return build(catalogue, {{"a column", type, {a, b, Value()}}});
  };
  EXPECT_EQ(value_of(of(SIDBEAM_ATTRIBUTE_I64, int64_t{4}, {}).attributes[0], 0), Value(int64_t{4}));
  EXPECT_EQ(value_of(of(SIDBEAM_ATTRIBUTE_I64, {}, int64_t{4}).attributes[0], 0), Value(int64_t{4}));
  EXPECT_EQ(value_of(of(SIDBEAM_ATTRIBUTE_F32, 0.0f, -0.0f).attributes[0], 0), Value(0.0f));
  const std::vector<std::string> list = {"p", "q"}, turned = {"q", "p"};
  EXPECT_EQ(value_of(of(SIDBEAM_ATTRIBUTE_STRING_LIST, list, list).attributes[0], 0), Value(list));
  const auto expect = [&](const char* text, int32_t type, const Value& a, const Value& b) {
    EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, text, of(type, a, b));
  };
  expect("attribute 'a column' of the item 5 with the SID 1,2 is 3 in row 1 and 4 in row 0", SIDBEAM_ATTRIBUTE_I64,
         int64_t{4}, int64_t{3});
  expect("is false in row 1 and true in row 0, expected the same value in both, or null", SIDBEAM_ATTRIBUTE_BOOL, true,
         false);
  expect("is 'u' in row 1 and '' in row 0", SIDBEAM_ATTRIBUTE_STRING, "", "u");
  expect("is ['q', 'p'] in row 1 and ['p', 'q'] in row 0", SIDBEAM_ATTRIBUTE_STRING_LIST, list, turned);
}

// The rows of items that are left out leave no trace.
TEST(IndexAttributes, TheFirstOfASidKeepsItsOwn) {
  TestCatalogue catalogue = small({{{1, 2}, 7, "", 0}, {{1, 2}, 5, "", 0}, {{1, 2}, 6, "", 3}});
  catalogue.with_priorities = true;
  catalogue.collisions = SIDBEAM_COLLISIONS_FIRST;
  const Index index = build(catalogue, {{"s", SIDBEAM_ATTRIBUTE_STRING, {"seven", "five", "six"}}});
  expect_verified(index);
  ASSERT_EQ(index.view.items, 1u);
  EXPECT_EQ(value_of(index.attributes[0], 0), Value("six"));
  EXPECT_EQ(index.attributes[0].dictionary.count, 1u);
  EXPECT_EQ(index.attributes[0].dictionary.bytes, 3u);
}

// Codes of more than 16 bits, which are four bytes wide.
TEST(IndexAttributes, LargeDictionaries) {
  TestCatalogue catalogue;
  catalogue.codes = {1 << 18};
  TestColumn column = {"s", SIDBEAM_ATTRIBUTE_STRING, {}};
  for (int32_t i = 0; i < 70000; ++i) {
    catalogue.pairs.push_back({{i}, i, "", 0});
    column.values.emplace_back(std::to_string(i * 37 % 70000));
  }
  const Index index = build(catalogue, {column}, 2, 3);
  expect_verified(index);
  EXPECT_EQ(index.attributes[0].codes.width, 4);
  for (uint64_t row = 0; row < 70000; ++row)
    ASSERT_EQ(value_of(index.attributes[0], row), column.values[static_cast<size_t>(row)]);
}

TEST(IndexAttributes, ThePlanCountsThem) {
  TestCatalogue catalogue;
  catalogue.codes = {1 << 16};
  TestColumn column = {"i", SIDBEAM_ATTRIBUTE_I64, {}};
  for (int32_t i = 0; i < 60000; ++i) {
    catalogue.pairs.push_back({{i}, i, "", 0});
    column.values.emplace_back(int64_t{i});
  }
  const auto plan = [&](bool with) {
    Builder builder(catalogue.config(), 1, default_allocator());
    if (with) declare(builder, {column});
    add_pairs(builder, catalogue, 0, catalogue.pairs.size());
    if (with) builder.set_attribute(Column(column, 0, 60000, false, false).out, 60000);
    return builder.plan().info;
  };
  const sidbeam_plan_info without = plan(false), with = plan(true);
  EXPECT_GE(with.file_bytes, without.file_bytes + 60000 * 8);
  EXPECT_GE(with.peak_bytes, without.peak_bytes + 60000 * 9);  // the value and its byte of validity
  sidbeam_builder_config config = catalogue.config();
  config.memory_limit_bytes = without.peak_bytes + 60000 * 8;
  Builder builder(config, 1, default_allocator());
  declare(builder, {column});
  add_pairs(builder, catalogue, 0, catalogue.pairs.size());
  builder.set_attribute(Column(column, 0, 60000, false, false).out, 60000);
  EXPECT_FAILS(SIDBEAM_OUT_OF_MEMORY, "memory_limit_bytes is", builder.finish());
}

}  // namespace
}  // namespace sidbeam::testing
