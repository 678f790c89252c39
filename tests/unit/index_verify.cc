// Damage in the sections: full verification finds it, and reading without verification survives it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "index/trie.h"
#include "index_damage.h"

namespace sidbeam::testing {
namespace {

using format::SectionKind;

TestCatalogue compact_of(TestCatalogue catalogue) {
  catalogue.kinds = SIDBEAM_KIND_COMPACT_TRIE;
  return catalogue;
}

// With a first level of three codes before the others, and a last level of the given width.
TestCatalogue deep_of(TestCatalogue catalogue, int32_t codes) {
  catalogue.codes.back() = codes;
  catalogue.codes.insert(catalogue.codes.begin(), 3);
  for (Pair& pair : catalogue.pairs) pair.sid.insert(pair.sid.begin(), static_cast<int32_t>(pair.id % 3));
  return catalogue;
}

// Every kind of section is in one of these.
std::vector<TestCatalogue> catalogues() {
  TestCatalogue fixed, variable, named, tall;
  fixed.codes = {90, 3, 4};
  fixed.kinds = 7;
  for (int32_t a = 0; a < 80; ++a) fixed.pairs.push_back({{a, a % 3, a % 4}, a, "", 0});
  fixed.pairs.push_back({{7, 1, 3}, 1000, "", 0});
  variable.codes = {5, 100, 6};
  variable.variable_length = true;
  variable.kinds = SIDBEAM_KIND_TRIE;
  for (int32_t a = 0; a < 90; ++a) variable.pairs.push_back({{a % 5, a, a % 6}, a, "", 0});
  for (int32_t a = 0; a < 4; ++a) variable.pairs.push_back({{a}, a, "", 0});
  for (int32_t a = 0; a < 9; ++a) variable.pairs.push_back({{a % 5, a}, a, "", 0});
  named.codes = std::vector<int32_t>(6, 1 << 19);
  named.kinds = SIDBEAM_KIND_HASH;
  named.id_type = SIDBEAM_ID_STRING;
  for (int32_t a = 0; a < 40; ++a)
    named.pairs.push_back({{a, 5000 * a, 7, 7, 7, a % 2}, 0, "name " + std::to_string(a), 0});
  // Prefixes of two codes that more than 64 SIDs share, so that ends lie two or more levels above the tail.
  tall.codes = {2, 3, 90, 4};
  tall.variable_length = true;
  for (int32_t a = 0; a < 66; ++a) tall.pairs.push_back({{1, 0, a, a % 4}, a, "", 0});
  for (const std::vector<int32_t>& sid : std::vector<std::vector<int32_t>>{{0}, {1}, {0, 0}, {1, 2}, {1, 0, 7}})
    tall.pairs.push_back({sid, 0, "", 0});
  return {fixed,
          variable,
          named,
          compact_of(tall),
          compact_of(fixed),
          compact_of(variable),
          compact_of(deep_of(fixed, 40000)),
          compact_of(deep_of(variable, 40000)),
          compact_of(deep_of(variable, 70000))};
}

// Their files, and those with a hash set also in the form from before 1.2.
std::vector<std::vector<uint8_t>> files() {
  std::vector<std::vector<uint8_t>> out;
  for (const TestCatalogue& catalogue : catalogues()) {
    const Index index = build(catalogue);
    out.push_back(bytes_of(index));
    if (index.view.hash.keys != nullptr) out.push_back(with_hash_seed(bytes_of(index), 0));
  }
  return out;
}

// Asks every question there is; the answers do not matter, only where it reads.
void ask_everything(const IndexView& view) {
  uint64_t sum = 0;
  for (uint64_t ordinal = 0; ordinal < view.sids; ++ordinal) {
    constexpr int32_t kUnwritten = -77;
    int32_t codes[kMaxLevels];
    std::fill_n(codes, kMaxLevels, kUnwritten);
    const int length = sid_of(view, ordinal, codes);
    ASSERT_GE(length, 0);
    ASSERT_LE(length, view.levels);
    for (int l = 0; l < length; ++l) ASSERT_NE(codes[l], kUnwritten) << "level " << l << " of length " << length;
    ASSERT_LT(find_sid(view, codes, length), static_cast<int64_t>(view.sids));
    for (int l = 0; l <= length; ++l) {
      const OrdinalRange range = prefix_ordinals(view, codes, l);
      ASSERT_LE(range.hi, view.sids);
      ASSERT_LE(range.lo, range.hi);
    }
    const OrdinalRange rows = item_rows(view, ordinal);
    ASSERT_LE(rows.hi, view.items);
    ASSERT_LE(rows.lo, rows.hi);
  }
  for (int l = 0; view.has_trie && l < view.csr_levels; ++l) {
    for (uint64_t node = 0; node < view.level[l].nodes; ++node) {
      const Row row = row_of(view.level[l], node);
      ASSERT_LE(row.begin + row.count, view.level[l].edges);
      sum += trie_ordinals(view, l, node).lo + static_cast<uint64_t>(dense_rank(view.level[l], node));
    }
  }
  volatile uint64_t read = sum;  // so that the compiler leaves none of it out
  static_cast<void>(read);
}

TEST(IndexVerify, EveryByteOfEverySectionCounts) {
  constexpr uint64_t kStep = SIDBEAM_SANITIZED ? 5 : 1;
  for (const std::vector<uint8_t>& original : files()) {
    for (const Section& section : Damaged(original).header.sections) {
      for (uint64_t at = section.offset; at < section.offset + section.spec.length; at += kStep) {
        for (const uint8_t flip : {uint8_t{0x01}, uint8_t{0xff}}) {
          SCOPED_TRACE(::testing::Message()
                       << SectionName(static_cast<uint16_t>(section.spec.kind), section.spec.level).text << ", byte "
                       << at - section.offset << " xor " << int{flip});
          Damaged file(original);
          file.bytes[static_cast<int64_t>(at)] ^= flip;
          EXPECT_FAILS(SIDBEAM_CORRUPT, "wrong checksum", file.open(SIDBEAM_VERIFY_CHECKSUMS));
          file.seal();
          ASSERT_NO_THROW(file.open(SIDBEAM_VERIFY_CHECKSUMS));
          EXPECT_EQ(failure_of([&] { file.open(SIDBEAM_VERIFY_FULL); }).status, SIDBEAM_CORRUPT);
          ask_everything(file.open(SIDBEAM_VERIFY_HEADER).view);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(IndexVerify, RandomContentsAreNeverFollowedOutside) {
  std::mt19937_64 random(11);
  for (const std::vector<uint8_t>& original : files()) {
    for (int repeat = 0; repeat < 300; ++repeat) {
      Damaged file(original);
      for (const Section& section : file.header.sections) {
        if (random() % 2 == 0) continue;
        const uint64_t style = random() % 3;
        for (uint64_t i = 0; i < section.spec.length; ++i)
          file.bytes[static_cast<int64_t>(section.offset + i)] = static_cast<uint8_t>(style == 0   ? random()
                                                                                      : style == 1 ? 0xff
                                                                                                   : 0);
      }
      const bool changed = std::memcmp(file.bytes.data(), original.data(), original.size()) != 0;
      file.seal();
      ask_everything(file.open(SIDBEAM_VERIFY_HEADER).view);
      if (changed) {
        EXPECT_EQ(failure_of([&] { file.open(SIDBEAM_VERIFY_FULL); }).status, SIDBEAM_CORRUPT);
      } else {
        EXPECT_NO_THROW(file.open(SIDBEAM_VERIFY_FULL));
      }
    }
  }
}

TEST(IndexVerify, PaddingMustBeZero) {
  const std::vector<uint8_t> original = bytes_of(build(catalogues()[0]));
  const Damaged pristine(original);
  const Section& first = pristine.header.sections[0];
  for (const uint64_t at : {first.offset + first.spec.length, uint64_t{original.size()} - 1}) {
    Damaged file(original);
    file.bytes[static_cast<int64_t>(at)] = 1;
    EXPECT_FAILS(SIDBEAM_CORRUPT, "non-zero padding: byte " + std::to_string(at) + " is 1",
                 file.open(SIDBEAM_VERIFY_CHECKSUMS));
  }
}

TEST(IndexVerify, MessagesNameSectionLevelAndPosition) {
  const std::vector<TestCatalogue> all = catalogues();
  const std::vector<uint8_t> fixed = bytes_of(build(all[0])), variable = bytes_of(build(all[1]));
  const auto expect = [](const std::vector<uint8_t>& from, const char* text, auto&& damage) {
    Damaged file(from);
    damage(file);
    file.seal();
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_FULL));
  };
  const auto u32 = [](Damaged& f, SectionKind kind, int level, size_t i) -> uint32_t& {
    return f.at<uint32_t>(kind, level, i);
  };
  const auto u16 = [](Damaged& f, SectionKind kind, int level, size_t i) -> uint16_t& {
    return f.at<uint16_t>(kind, level, i);
  };
  expect(fixed, "section row_pointers of level 1: entry 17 falls (2 after 16)",
         [&](Damaged& f) { u32(f, SectionKind::RowPointers, 1, 17) = 2; });
  expect(fixed, "section row_pointers of level 1: entry 17 is 400, expected at most the 80 edges",
         [&](Damaged& f) { u32(f, SectionKind::RowPointers, 1, 17) = 400; });
  expect(fixed, "section tokens of level 0: entry 5 does not rise (2 after 4)",
         [&](Damaged& f) { u16(f, SectionKind::Tokens, 0, 5) = 2; });
  expect(fixed, "section tokens of level 2: entry 5 is 4, expected less than 4",
         [&](Damaged& f) { u16(f, SectionKind::Tokens, 2, 5) = 4; });
  expect(fixed, "section dense_masks of level 0: the mask of node 0 is not its children", [&](Damaged& f) {
    std::swap(f.section(SectionKind::DenseMasks, 0)[0], f.section(SectionKind::DenseMasks, 0)[11]);
  });
  expect(fixed, "section columns of level 1: entry 4 is 2, the trie has 1",
         [&](Damaged& f) { u16(f, SectionKind::Columns, 1, 4) = 2; });
  expect(fixed, "section item_offsets: entry 3 is 2 after 2",
         [&](Damaged& f) { u32(f, SectionKind::ItemOffsets, -1, 3) = 2; });
  expect(fixed, "the header's fingerprint is",
         [&](Damaged& f) { reinterpret_cast<uint64_t*>(f.section(SectionKind::ItemIds, -1))[0] = 77; });
  expect(variable, "section end_edges of level 1: entry 0 is",
         [&](Damaged& f) { ++u32(f, SectionKind::EndEdges, 1, 0); });
  expect(variable, "section end_ordinals of level 2: entry 1 is",
         [&](Damaged& f) { ++u32(f, SectionKind::EndOrdinals, 2, 1); });
  expect(variable, "section end_ordinals: entry 3 is", [&](Damaged& f) { ++u32(f, SectionKind::EndOrdinals, -1, 3); });
  expect(variable, "section ordinals of level 1: entry 2 is",
         [&](Damaged& f) { ++u32(f, SectionKind::Ordinals, 1, 2); });
}

TEST(IndexVerify, CountsInTheHeaderMustBeTrue) {
  const std::vector<uint8_t> original = bytes_of(build(catalogues()[1]));
  const auto expect = [&](const char* text, auto&& change) {
    Damaged file(original);
    change(file.header);
    file.seal();
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_FULL));
  };
  expect("the header's max_children of level 1 is 3", [](FileHeader& h) { h.shape.level[1].max_children = 3; });
  expect("the header's shortest is 2, the SIDs give 1", [](FileHeader& h) { h.shortest = 2; });
  expect("the header's fingerprint is", [](FileHeader& h) { h.fingerprint.low ^= 1; });
}

}  // namespace
}  // namespace sidbeam::testing
