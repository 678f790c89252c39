// Hash sets against SIDs that were chosen to crowd them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "index_damage.h"

namespace sidbeam::testing {
namespace {

using format::SectionKind;

constexpr int32_t kCodes = 1 << 20;
constexpr uint64_t kMarch = 0x2545f4914f6cdd1du;  // a caller's seed

// a with a * factor = 1 mod 2^64, for an odd factor: each step doubles the number of correct bits.
uint64_t inverse(uint64_t factor) {
  uint64_t out = factor;
  for (int i = 0; i < 5; ++i) out *= 2 - factor * out;
  return out;
}

// The key that becomes `mixed`: what an attacker who knows the seed computes.
uint64_t unmix(const KeyMix& mix, uint64_t mixed) {
  uint64_t key = mixed ^ mixed >> 33;
  key *= inverse(mix.second);
  key = (key ^ key >> 33) * inverse(mix.first);
  return (key ^ key >> 33) ^ mix.mask;
}

// SIDs of three levels of 2^20 codes, keys of mixed radix, that begin at one slot of a set of `capacity`, with a seed.
void add_crowd(TestCatalogue& catalogue, uint64_t seed, uint64_t capacity, size_t count) {
  const KeyMix mix = key_mix(seed);
  for (uint64_t multiple = 1; count > 0; ++multiple) {
    const uint64_t key = unmix(mix, multiple * capacity + 5);
    if (key >> 60 != 0) continue;
    const auto code = [&](int level) { return static_cast<int32_t>(key >> 20 * level & (kCodes - 1)); };
    catalogue.pairs.push_back({{code(0), code(1), code(2)}, static_cast<int64_t>(catalogue.pairs.size()), "", 0});
    --count;
  }
}

// The same for SIDs whose keys are hashes, found by trying.
void add_hashed_crowd(TestCatalogue& catalogue, uint64_t seed, uint64_t capacity, size_t count) {
  std::mt19937_64 random(seed);
  const KeyMix mix = key_mix(seed);
  while (count > 0) {
    std::vector<int32_t> sid;
    for (int l = 0; l < 4; ++l) sid.push_back(static_cast<int32_t>(random() % kCodes));
    const uint64_t key = xxh3_64(best_cpu_target(), sid.data(), sid.size() * sizeof(int32_t), seed) & ~uint64_t{0} >> 1;
    if ((mix_key(mix, key) & (capacity - 1)) != 5) continue;
    catalogue.pairs.push_back({sid, static_cast<int64_t>(catalogue.pairs.size()), "", 0});
    --count;
  }
}

TestCatalogue catalogue_of(int levels) {
  TestCatalogue out;
  out.codes.assign(static_cast<size_t>(levels), kCodes);
  out.kinds = SIDBEAM_KIND_HASH;
  return out;
}

void fill_up(TestCatalogue& catalogue, size_t count) {
  std::mt19937_64 random(3);
  while (catalogue.pairs.size() < count) {
    Pair pair{{}, static_cast<int64_t>(catalogue.pairs.size()), "", 0};
    for (size_t l = 0; l < catalogue.codes.size(); ++l) pair.sid.push_back(static_cast<int32_t>(random() % kCodes));
    catalogue.pairs.push_back(pair);
  }
}

// 2000 SIDs, of which 160 crowd the set with each of the first seeds of the list.
constexpr size_t kSids = 2000, kCrowd = 160;
constexpr uint64_t kCapacity = 4096;
TestCatalogue crowded(int seeds, bool hashed = false) {
  TestCatalogue out = catalogue_of(hashed ? 4 : 3);
  for (int i = 0; i < seeds; ++i) {
    if (hashed) add_hashed_crowd(out, hash_seed(i), kCapacity, kCrowd);
    if (!hashed) add_crowd(out, hash_seed(i), kCapacity, kCrowd);
  }
  fill_up(out, kSids);
  return out;
}

Index build_with(const TestCatalogue& catalogue, uint64_t seed, int threads = 1) {
  sidbeam_builder_config config = catalogue.config();
  config.hash_seed = static_cast<int64_t>(seed);
  Builder builder(config, threads, default_allocator());
  add_pairs(builder, catalogue, 0, catalogue.pairs.size());
  return builder.finish();
}

uint64_t seed_of(const Index& index) { return index.view.hash.seed; }

// Most slots between where a key begins and where it is.
uint64_t furthest(const HashView& hash) {
  uint64_t most = 0;
  for (uint64_t slot = 0; slot < hash.capacity; ++slot) {
    if (hash.keys[slot] == ~uint64_t{0}) continue;
    most = std::max(most, (slot - mix_key(hash.mix, hash.keys[slot])) & (hash.capacity - 1));
  }
  return most;
}

void expect_all_found(const Index& index) {
  for (uint64_t i = 0; i < index.view.sids; ++i) {
    int32_t codes[kMaxLevels];
    sid_of(index.view, i, codes);
    ASSERT_EQ(hash_find(index.view, codes), static_cast<int64_t>(i));
  }
}

TEST(IndexHash, SidsOfNobodysChoiceLieNearWhereTheyBegin) {
  TestCatalogue catalogue = catalogue_of(3);
  fill_up(catalogue, 32768);  // half of all slots, the most that are ever filled
  const Index index = build(catalogue);
  ASSERT_EQ(index.view.hash.capacity, 2 * index.view.sids);
  EXPECT_EQ(seed_of(index), hash_seed(0));
  EXPECT_LT(furthest(index.view.hash), kMostProbes / 2);
  expect_verified(index);
}

TEST(IndexHash, EverySeedMixesWell) {
  for (int i = 0; i < kHashSeeds; ++i) {
    const KeyMix mix = key_mix(hash_seed(i));
    // Keys as SIDs make them, one after the other: each of 256 parts gets its share of 65536, to within six deviations.
    std::vector<int> parts(256, 0);
    for (uint64_t key = 0; key < 65536; ++key) ++parts[mix_key(mix, key) & 255];
    for (const int part : parts) EXPECT_NEAR(part, 256, 96) << "seed " << i;
    for (uint64_t mixed : {uint64_t{0}, uint64_t{77}, ~uint64_t{0}}) EXPECT_EQ(mix_key(mix, unmix(mix, mixed)), mixed);
  }
}

TEST(IndexHash, CrowdedSidsGetTheNextSeed) {
  for (const bool hashed : {false, true}) {
    for (const int seeds : {0, 1, 3}) {
      SCOPED_TRACE(::testing::Message() << seeds << " seeds crowded" << (hashed ? ", hashed keys" : ""));
      const TestCatalogue catalogue = crowded(seeds, hashed);
      const Index index = build(catalogue);
      EXPECT_EQ(index.view.hash.hashed, hashed);
      EXPECT_EQ(seed_of(index), hash_seed(seeds));
      EXPECT_LT(furthest(index.view.hash), kMostProbes);
      expect_verified(index);
      expect_all_found(index);
      TestCatalogue turned = catalogue;
      std::reverse(turned.pairs.begin(), turned.pairs.end());
      EXPECT_EQ(bytes_of(build(turned, 3, 5)), bytes_of(index));
    }
  }
}

TEST(IndexHash, WhereEverySeedIsCrowdedTheBuildRefusesOrTakesOne) {
  const TestCatalogue catalogue = crowded(kHashSeeds);
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "the SIDs crowd the hash set: with the last seed of the list",
               build(catalogue));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "expected a hash_seed, a secret number", build(catalogue));
  TestCatalogue sorted = catalogue;
  sorted.kinds = SIDBEAM_KIND_SORTED;
  expect_verified(build(sorted));
  const Index index = build_with(catalogue, kMarch);
  EXPECT_EQ(seed_of(index), kMarch);
  expect_verified(index);
  expect_all_found(index);
}

TEST(IndexHash, AnOwnSeedIsPartOfWhatMakesTheSameBytes) {
  TestCatalogue catalogue = crowded(0);
  const std::vector<uint8_t> own = bytes_of(build_with(catalogue, kMarch));
  EXPECT_EQ(bytes_of(build_with(catalogue, kMarch, 3)), own);
  EXPECT_NE(bytes_of(build_with(catalogue, kMarch + 1)), own);
  EXPECT_EQ(bytes_of(build_with(catalogue, 0)), bytes_of(build(catalogue)));
  const Index index = build_with(catalogue, kMarch);
  EXPECT_STREQ(index.header.info.fingerprint, build(catalogue).header.info.fingerprint);
  catalogue.kinds = SIDBEAM_KIND_SORTED;
  EXPECT_EQ(bytes_of(build_with(catalogue, kMarch)), bytes_of(build(catalogue)));
}

// The cost is how far a fill gets before it gives up: the 129th of the crowd, of 20,000, is the first without room.
TEST(IndexHash, ACrowdIsGivenUpAtTheBound) {
  TestCatalogue catalogue = catalogue_of(3);
  add_crowd(catalogue, kMarch, 65536, 20000);
  EXPECT_FAILS(
      SIDBEAM_INVALID_ARGUMENT,
      "with hash_seed SID " + std::to_string(kMostProbes) + " lies 128 slots or more from where its key begins",
      build_with(catalogue, kMarch));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "expected another hash_seed", build_with(catalogue, kMarch));
  EXPECT_EQ(seed_of(build(catalogue)), hash_seed(0));
}

TEST(IndexHash, LookupsEndAtTheBound) {
  constexpr uint64_t kSlots = 1024;
  std::vector<uint64_t> keys(kSlots, 1);
  std::vector<uint32_t> ordinals(kSlots, 0);
  IndexView index;
  index.sids = 10;
  index.levels = 1;
  index.level[0].codes = 100;
  index.hash = {keys.data(), {ordinals.data(), 4}, kSlots, false, kMarch, key_mix(kMarch), kMostProbes};
  const int32_t code = 42;  // also the key
  const uint64_t begin = mix_key(index.hash.mix, 42);
  for (const uint64_t distance : {uint64_t{0}, kMostProbes - 1, kMostProbes, kSlots - 1}) {
    keys[(begin + distance) % kSlots] = 42;
    ordinals[(begin + distance) % kSlots] = 7;
    EXPECT_EQ(hash_find(index, &code), distance < kMostProbes ? 7 : -1) << distance;
    keys[(begin + distance) % kSlots] = 1;
  }
}

TEST(IndexHash, VerificationRefusesKeysBeyondTheBound) {
  const std::vector<uint8_t> original = bytes_of(build(crowded(1)));
  for (const uint64_t seed : {hash_seed(0), hash_seed(1), hash_seed(2)}) {
    const Damaged file(with_hash_seed(original, seed));
    EXPECT_NO_THROW(file.open(SIDBEAM_VERIFY_CHECKSUMS));
    if (seed != hash_seed(0)) {
      EXPECT_NO_THROW(file.open(SIDBEAM_VERIFY_FULL));
    } else {
      EXPECT_FAILS(SIDBEAM_CORRUPT, "slots from where its key begins, expected less than 128",
                   file.open(SIDBEAM_VERIFY_FULL));
    }
  }
}

TEST(IndexHash, SeedsThatCannotBeAreRefusedAtEveryDepth) {
  const std::vector<uint8_t> original = bytes_of(build(crowded(0)));
  const auto expect = [](const std::vector<uint8_t>& from, const char* text, auto&& change) {
    Damaged file(from);
    change(file);
    file.seal();
    for (int32_t depth = SIDBEAM_VERIFY_HEADER; depth <= SIDBEAM_VERIFY_FULL; ++depth)
      EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(depth));
  };
  expect(original, "the header's hash seed is 0000000000003039, expected one of the list, or the caller's",
         [](Damaged& f) { f.header.shape.hash_seed = 12345; });
  expect(original, "the header's hash seed is 0000000000000000, expected the caller's, not 0", [](Damaged& f) {
    f.header.shape.hash_seed = 0;
    f.header.own_hash_seed = true;
  });
  expect(original, "section seeded_hash_keys is not expected", [](Damaged& f) { f.header.shape.hash_seed = 0; });
  expect(original, "section hash_keys is not expected",
         [](Damaged& f) { f.entry(SectionKind::SeededHashKeys, -1).spec.kind = SectionKind::HashKeys; });
  TestCatalogue sorted = crowded(0);
  sorted.kinds = SIDBEAM_KIND_SORTED;
  expect(bytes_of(build(sorted)), "the header has a hash seed, and the file no hash set",
         [](Damaged& f) { f.header.shape.hash_seed = hash_seed(0); });
  // A valid seed, but not this file's.
  Damaged other(original);
  other.header.shape.hash_seed = hash_seed(4);
  other.seal();
  EXPECT_NO_THROW(other.open(SIDBEAM_VERIFY_CHECKSUMS));
  EXPECT_FAILS(SIDBEAM_CORRUPT, "is cut off from where its key begins", other.open(SIDBEAM_VERIFY_FULL));
}

TEST(IndexHash, FilesOfBefore12AreReadWithoutABound) {
  for (const bool hashed : {false, true}) {
    TestCatalogue catalogue = catalogue_of(hashed ? 4 : 3);
    if (hashed) add_hashed_crowd(catalogue, 0, kCapacity, kCrowd);
    if (!hashed) add_crowd(catalogue, 0, kCapacity, kCrowd);
    fill_up(catalogue, kSids);
    const Damaged old(with_hash_seed(bytes_of(build(catalogue)), 0));
    const Index index = old.open(SIDBEAM_VERIFY_FULL);
    EXPECT_EQ(seed_of(index), 0u);
    EXPECT_GT(furthest(index.view.hash), kMostProbes);
    expect_all_found(index);
  }
}

}  // namespace
}  // namespace sidbeam::testing
