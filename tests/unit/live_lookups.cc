// Questions to a version of a live catalogue: each has the answer of an index of its items alone, except for numbers of
// rows and ordinals. SPDX-License-Identifier: Apache-2.0
#include <set>

#include "live_pairs.h"
#include "random_seed.h"

namespace sidbeam::testing {
namespace {

constexpr int kCases = SIDBEAM_SANITIZED ? 80 : 200;

using Texts = std::multiset<std::string>;

// An index that is asked.
struct Asked {
  sidbeam_index* index;

  int64_t ordinal_of(const std::vector<int32_t>& sid) const {
    int64_t ordinal = -7;
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_index_find_sid(index, sid.data(), static_cast<int32_t>(sid.size()), &ordinal, error);
    });
    return ordinal;
  }
  std::vector<int32_t> sid_at(int64_t ordinal) const {
    std::vector<int32_t> codes(static_cast<size_t>(index->index.view.levels));
    int32_t length = 0;
    expect_ok([&](sidbeam_error* error) { return sidbeam_index_sid(index, ordinal, codes.data(), &length, error); });
    codes.resize(static_cast<size_t>(length));
    return codes;
  }
  // With the end as -1.
  std::vector<int32_t> children_of(const std::vector<int32_t>& prefix) const {
    std::vector<int32_t> codes(300);
    int64_t count = 0;
    int32_t end = 0;
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_index_children(index, prefix.data(), static_cast<int32_t>(prefix.size()), std::ssize(codes),
                                    codes.data(), &count, &end, error);
    });
    codes.resize(static_cast<size_t>(count));
    if (end != 0) codes.push_back(-1);
    return codes;
  }
  // The ids of some SIDs' items, by SID; rows lead back to their ordinals.
  std::vector<Texts> items_of(const std::vector<int64_t>& ordinals, int32_t distinct) const {
    std::vector<int64_t> rows(100000), offsets(ordinals.size() + 1);
    int32_t truncated = -1;
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_index_items(index, ordinals.data(), std::ssize(ordinals), 0, std::ssize(rows), distinct,
                                 rows.data(), offsets.data(), &truncated, error);
    });
    EXPECT_EQ(truncated, 0);
    std::vector<Texts> all(ordinals.size());
    for (size_t i = 0; i < ordinals.size(); ++i) {
      for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
        const int64_t row = rows[static_cast<size_t>(k)];
        int64_t ordinal = -1;
        expect_ok([&](sidbeam_error* error) { return sidbeam_index_item_ordinal(index, row, &ordinal, error); });
        EXPECT_EQ(ordinal, ordinals[i]);
        all[i].insert(id_text(index->index.view, static_cast<uint64_t>(row)));
      }
    }
    return all;
  }
  // The SIDs of an item.
  std::multiset<std::vector<int32_t>> sids_of(const Pair& item) const {
    const bool named = index->index.view.id_type == IdType::kString;
    std::multiset<std::vector<int32_t>> sids;
    for (int64_t row = -1;;) {
      expect_ok([&](sidbeam_error* error) {
        return sidbeam_index_find_item(index, item.id, named ? item.name.data() : nullptr, std::ssize(item.name),
                                       row + 1, &row, error);
      });
      if (row < 0) return sids;
      int64_t ordinal = -1;
      expect_ok([&](sidbeam_error* error) { return sidbeam_index_item_ordinal(index, row, &ordinal, error); });
      sids.insert(sid_at(ordinal));
    }
  }
};

// Pairs that are live, and others that have gone.
std::vector<Pair> all_pairs(const IndexView& version) {
  std::vector<Pair> pairs;
  for (uint64_t row = 0; row < row_count(version); ++row) pairs.push_back(pair_at(version, row));
  return pairs;
}

void compare_pair(const Asked& version, const Asked& plain, const Pair& pair, Random& random) {
  const int64_t found = version.ordinal_of(pair.sid), expected = plain.ordinal_of(pair.sid);
  ASSERT_EQ(found >= 0, expected >= 0);
  if (found >= 0) {
    ASSERT_EQ(version.sid_at(found), pair.sid);
  }
  ASSERT_EQ(version.sids_of(pair), plain.sids_of(pair));
  std::vector<int32_t> prefix = pair.sid;
  prefix.resize(random() % prefix.size());
  ASSERT_EQ(version.children_of(prefix), plain.children_of(prefix));
}

void compare_lists(const Asked& version, const Asked& plain, const std::vector<Pair>& live, Random& random) {
  std::vector<int64_t> of_version, of_plain;
  for (int k = 0; k < 10; ++k) {  // which may come twice
    const Pair& pair = live[random() % live.size()];
    of_version.push_back(version.ordinal_of(pair.sid));
    of_plain.push_back(plain.ordinal_of(pair.sid));
  }
  for (const int32_t distinct : {0, 1})
    ASSERT_TRUE(version.items_of(of_version, distinct) == plain.items_of(of_plain, distinct)) << distinct;
}

TEST(LiveLookups, AreAnsweredAsByAnIndexOfWhatIsLive) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kCases && !HasFailure(); ++i) {
    const Pairwise both = make_pair_of(runtime.handle, random);
    const Asked version{both.version.get()}, plain{both.plain.get()};
    const std::vector<Pair> all = all_pairs(both.version->index.view);
    for (int k = 0; k < 20; ++k) compare_pair(version, plain, all[random() % all.size()], random);
    compare_lists(version, plain, both.live, random);
    for (const int32_t depth : {SIDBEAM_VERIFY_CHECKSUMS, SIDBEAM_VERIFY_FULL})
      expect_ok([&](sidbeam_error* error) { return sidbeam_index_verify(version.index, depth, error); });
  }
}

}  // namespace
}  // namespace sidbeam::testing
