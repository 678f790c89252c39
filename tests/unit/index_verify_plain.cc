// The shortcuts of verification accept what is right and nothing else.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "index/header.h"
#include "index/names.h"
#include "index/read/open.h"
#include "index/verify/plain_sids.h"
#include "index/verify/sid_edges.h"
#include "index/verify/verify_hash.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

using format::SectionKind;

bool is_plain(const Index& index) {
  SectionSums sums(index);
  SidPairs pairs(index.view);
  return has_plain_sids(index, sums, pairs) && (index.view.hash.keys == nullptr || has_plain_hash(index, sums, pairs));
}

// Of several blocks, with rows that straddle them, levels of one child and of many, and two widths of tokens.
TestCatalogue catalogue_of(std::mt19937_64& random, std::vector<int32_t> codes, int64_t count,
                           int kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED) {
  TestCatalogue out;
  out.codes = std::move(codes);
  out.kinds = kinds;
  for (int64_t i = 0; i < count; ++i) {
    Pair pair;
    for (const int32_t most : out.codes)
      pair.sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(most)));
    pair.id = i;
    out.pairs.push_back(pair);
  }
  return out;
}

TEST(IndexVerifyPlain, FindsEveryChange) {
  constexpr int kChanges = SIDBEAM_SANITIZED ? 50 : 200;  // of a section
  constexpr uint64_t kSeed = 31;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  const TestCatalogue catalogues[] = {
      catalogue_of(random, {3, 40, 60, 300, 200, 2}, 7000),
      catalogue_of(random, {70000, 2, 5}, 5000),
      catalogue_of(random, {1, 6000}, 20000),
      catalogue_of(random, {3000}, 9000),
      catalogue_of(random, {9, 9, 9, 9}, 1024),
      catalogue_of(random, {64, 64, 40, 40, 40}, 6000, SIDBEAM_KIND_COMPACT_TRIE),
      catalogue_of(random, {90, 65000, 9, 9}, 6000, SIDBEAM_KIND_COMPACT_TRIE),
      catalogue_of(random, {90, 70000, 9, 9}, 6000, SIDBEAM_KIND_COMPACT_TRIE),
      catalogue_of(random, {20, 20, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2}, 6000, SIDBEAM_KIND_COMPACT_TRIE),
      catalogue_of(random, {3, 40, 60, 300, 200, 2}, 7000, SIDBEAM_KIND_SORTED),
      catalogue_of(random, {7, 70000, 2, 5}, 5000, SIDBEAM_KIND_SORTED),
      catalogue_of(random, {9, 9, 9, 9}, 5000, SIDBEAM_KIND_HASH),
      catalogue_of(random, {60000, 60000, 60000, 60000}, 5000, SIDBEAM_KIND_HASH)};
  for (const TestCatalogue& catalogue : catalogues) {
    SCOPED_TRACE("levels " + std::to_string(catalogue.levels()));
    const Index whole = build(catalogue);
    Buffer<uint8_t> bytes(default_allocator(), whole.bytes.size());
    std::memcpy(bytes.data(), whole.bytes.data(), static_cast<size_t>(bytes.size()));
    Index index = open_index_memory(bytes.data(), bytes.size(), nullptr, SIDBEAM_RESIDENCY_MAP, SIDBEAM_VERIFY_FULL, 1,
                                    default_allocator());
    EXPECT_EQ(index.view.csr_levels < index.view.levels, catalogue.kinds == SIDBEAM_KIND_COMPACT_TRIE);
    EXPECT_TRUE(is_plain(index));
    for (const SectionInfo& section : index.header.sections) {
      const auto kind = static_cast<SectionKind>(section.kind);
      if (kind != SectionKind::RowPointers && kind != SectionKind::Tokens && kind != SectionKind::Ordinals &&
          kind != SectionKind::Tail && kind != SectionKind::TailSplits && kind != SectionKind::Columns &&
          kind != SectionKind::SeededHashKeys && kind != SectionKind::HashOrdinals && kind != SectionKind::ItemIds)
        continue;
      for (int i = 0; i < kChanges; ++i) {
        const uint64_t at = section.offset + (i == 0 ? 0 : i == 1 ? section.bytes - 1 : random() % section.bytes);
        const auto change = static_cast<uint8_t>(1U << random() % 8);
        bytes[static_cast<int64_t>(at)] ^= change;
        EXPECT_FALSE(is_plain(index)) << section_kind_name(section.kind) << " of level " << section.level << ", byte "
                                      << at - section.offset;
        bytes[static_cast<int64_t>(at)] ^= change;
      }
    }
    EXPECT_TRUE(is_plain(index));
    for (int l = 0; l < index.view.levels; ++l) {
      for (const int by : {1, -1}) {
        index.view.level[l].max_children += static_cast<uint32_t>(by);
        EXPECT_FALSE(is_plain(index)) << "level " << l;
        index.view.level[l].max_children -= static_cast<uint32_t>(by);
      }
      if (index.view.has_trie) continue;
      ++index.view.level[l].edges;
      EXPECT_FALSE(is_plain(index)) << "level " << l;
      --index.view.level[l].edges;
    }
    EXPECT_TRUE(is_plain(index));
  }
}

// A wrong order must be found here. (A changed byte in right order is left to the fingerprint.)
template <class Code>
void expect_order() {
  const uint16_t first = 0;
  const auto rises = [&](std::vector<Code> second, bool distinct) {
    const std::vector<Code> above = {1, 1, 2, 2};
    SidEdges edges(bulk_kernels(best_cpu_target()));
    edges.begin_block(4, &first, 1);
    EXPECT_TRUE(edges.add_level(0, above.data()));
    return edges.add_level(1, second.data()) && edges.all_begin() == distinct;
  };
  EXPECT_TRUE(rises({5, 7, 1, 2}, true));
  EXPECT_TRUE(rises({5, 5, 1, 2}, false));
  EXPECT_FALSE(rises({5, 3, 1, 2}, true));
  EXPECT_FALSE(rises({5, 7, 2, 1}, true));
}

TEST(IndexVerifyPlain, SidsThatFallOrComeTwiceAreFound) {
  expect_order<uint16_t>();
  expect_order<uint32_t>();
}

struct HashTable {
  uint64_t* keys;
  uint32_t* ordinals;
  uint64_t slots;
};

// Each leaves every key and ordinal there, or each a likely one.
TEST(IndexVerifyPlain, FindsPairsThatAreNot) {
  std::mt19937_64 random(7);
  const TestCatalogue catalogue = catalogue_of(random, {50, 60, 70}, 3000, SIDBEAM_KIND_HASH);
  const auto plain_after = [&](auto&& change) {
    Index index = build(catalogue);
    const HashView& hash = index.view.hash;
    change(HashTable{const_cast<uint64_t*>(hash.keys), static_cast<uint32_t*>(const_cast<void*>(hash.ordinals.data)),
                     hash.capacity});
    return is_plain(index);
  };
  const auto used_from = [](const HashTable& table, uint64_t slot) {
    while (table.keys[slot] == ~uint64_t{0}) ++slot;
    return slot;
  };
  EXPECT_TRUE(plain_after([](const HashTable&) {}));
  EXPECT_FALSE(plain_after([&](const HashTable& table) {
    const uint64_t a = used_from(table, 0), b = used_from(table, a + 1);
    std::swap(table.ordinals[a], table.ordinals[b]);
  }));
  EXPECT_FALSE(plain_after([&](const HashTable& table) {  // to an empty slot after another
    const uint64_t a = used_from(table, 0);
    uint64_t free = a + 1;
    while (table.keys[free] != ~uint64_t{0} || table.keys[free - 1] != ~uint64_t{0}) ++free;
    std::swap(table.keys[a], table.keys[free]);
    std::swap(table.ordinals[a], table.ordinals[free]);
  }));
  EXPECT_FALSE(plain_after([&](const HashTable& table) {  // an ordinal where there is no key
    uint64_t free = 0;
    while (table.keys[free] != ~uint64_t{0}) ++free;
    table.ordinals[free] = 1;
  }));
  EXPECT_FALSE(plain_after([&](const HashTable& table) {  // one SID for another
    const uint64_t a = used_from(table, 0), b = used_from(table, a + 1);
    table.ordinals[a] = table.ordinals[b];
    table.keys[a] = table.keys[b];
  }));
}

uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;  // right in three bits, and each round doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

uint64_t unmix_key(const KeyMix& mix, uint64_t mixed) {
  mixed = (mixed ^ mixed >> 33) * inverse_of(mix.second);
  mixed = (mixed ^ mixed >> 33) * inverse_of(mix.first);
  return (mixed ^ mixed >> 33) ^ mix.mask;
}

// An entry is replaced by one with another ordinal and the key for which `mixed + ordinal * factor` is the same, which
// is all that once told pairs apart: a lookup then found a key that no SID has.
TEST(IndexVerifyPlain, FindsPairsChosenForTheirSum) {
  std::mt19937_64 random(8);
  constexpr uint64_t kSids = 3000, kFactor = 0x9e3779b97f4a7c15u;
  const TestCatalogue catalogue = catalogue_of(random, {50, 60, 70}, kSids, SIDBEAM_KIND_HASH);
  Index index = build(catalogue);
  const HashView& hash = index.view.hash;
  auto* const keys = const_cast<uint64_t*>(hash.keys);
  auto* const ordinals = static_cast<uint32_t*>(const_cast<void*>(hash.ordinals.data));
  const uint64_t mask = hash.capacity - 1;
  uint64_t slot = 0;
  while (!is_used(keys[slot]) || is_used(keys[(slot + 1) & mask])) ++slot;  // no other key is reached past it
  const uint64_t mixed = mix_key(hash.mix, keys[slot]), ordinal = ordinals[slot];
  EXPECT_EQ(unmix_key(hash.mix, mixed), keys[slot]);
  uint64_t other = 0, forged = mixed;
  while (other == ordinal || is_used(keys[forged & mask])) forged = mixed + (ordinal - ++other) * kFactor;
  ASSERT_LT(other, index.view.sids);
  ASSERT_TRUE(is_plain(index));
  keys[slot] = kEmptySlot;
  ordinals[slot] = 0;
  keys[forged & mask] = unmix_key(hash.mix, forged);
  ordinals[forged & mask] = static_cast<uint32_t>(other);
  EXPECT_FALSE(is_plain(index));
}

}  // namespace
}  // namespace sidbeam::testing
