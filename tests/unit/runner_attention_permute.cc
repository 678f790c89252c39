// Moving the unshared KV in place, against a copy. SPDX-License-Identifier: Apache-2.0
#include "runner/attention/permute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace sidbeam::runner {
namespace {

// Rows that all differ.
std::vector<char> rows_of(int64_t row_bytes, int32_t beams, int32_t depth) {
  std::vector<char> rows(static_cast<size_t>(row_bytes * beams * depth));
  std::mt19937 random(3);
  for (char& byte : rows) byte = static_cast<char>(random());
  return rows;
}

// Whether all rows that have a parent are what the parent's were.
bool follows(const std::vector<char>& before, const std::vector<char>& after, const BeamRows& rows,
             const std::vector<int32_t>& parents) {
  for (int32_t i = 0; i < rows.depth * rows.beams; ++i) {
    const int32_t m = i % rows.beams, parent = parents[static_cast<size_t>(m)];
    if (parent < 0) continue;
    const int64_t to = i * rows.row_bytes, from = (i - m + parent) * rows.row_bytes;
    if (std::memcmp(after.data() + to, before.data() + from, static_cast<size_t>(rows.row_bytes)) != 0) return false;
  }
  return true;
}

// All lists of parents of `beams` beams.
template <class Visit>
void for_all_parents(int32_t beams, const Visit& visit) {
  std::vector<int32_t> parents(static_cast<size_t>(beams), -1);
  for (;;) {
    visit(parents);
    size_t i = 0;
    while (i < parents.size() && ++parents[i] == beams) parents[i++] = -1;
    if (i == parents.size()) return;
  }
}

// Copies that no order can do without: one for each row that changes.
int64_t changes(const std::vector<int32_t>& parents) {
  int64_t sum = 0;
  for (size_t m = 0; m < parents.size(); ++m) sum += parents[m] >= 0 && parents[m] != static_cast<int32_t>(m) ? 1 : 0;
  return sum;
}

TEST(AttentionPermute, EveryListOfParentsOfFewBeams) {
  for (int32_t beams = 1; beams <= 6; ++beams) {
    const std::vector<char> before = rows_of(4, beams, 2);
    std::vector<char> after;
    int64_t lists = 0, wrong = 0, too_many = 0;
    for_all_parents(beams, [&](const std::vector<int32_t>& parents) {
      after = before;
      const BeamRows rows{after.data(), 4, beams, 2};
      const int64_t copies = permute_rows(rows, parents.data());
      wrong += follows(before, after, rows, parents) ? 0 : 1;
      too_many += copies > 2 * (changes(parents) + beams / 2) ? 1 : 0;  // a cycle of two or more takes one more
      ++lists;
    });
    EXPECT_EQ(wrong, 0) << "of " << lists << " lists of " << beams << " beams";
    EXPECT_EQ(too_many, 0) << "of " << lists << " lists of " << beams << " beams";
  }
}

TEST(AttentionPermute, ManyBeamsAndLongRows) {
  std::mt19937 random(7);
  for (const int32_t beams : {50, 512, 4096}) {
    for (const int64_t row_bytes : {2, 4096, 5000}) {
      if (beams == 4096 && row_bytes != 2) continue;
      const std::vector<char> before = rows_of(row_bytes, beams, 2);
      std::vector<int32_t> drawn(static_cast<size_t>(beams)), cycles(drawn), swaps(drawn);
      for (int32_t& parent : drawn) parent = static_cast<int32_t>(random() % static_cast<uint32_t>(beams + 1)) - 1;
      std::iota(cycles.begin(), cycles.end(), 0);
      std::shuffle(cycles.begin(), cycles.end(), random);
      for (int32_t m = 0; m < beams; ++m) swaps[static_cast<size_t>(m)] = m ^ 1;  // the most cycles
      for (const auto& parents : {drawn, cycles, swaps}) {
        std::vector<char> after = before;
        const BeamRows rows{after.data(), row_bytes, beams, 2};
        permute_rows(rows, parents.data());
        EXPECT_TRUE(follows(before, after, rows, parents)) << beams << " beams, rows of " << row_bytes;
      }
    }
  }
}

// The paper's order: rows that move up, from the first on, then rows that move down, from the last on.
void sweep_twice(char* row, const std::vector<int32_t>& parents) {
  const auto beams = static_cast<int32_t>(parents.size());
  for (int32_t m = 0; m < beams; ++m) {
    if (parents[static_cast<size_t>(m)] > m) row[m] = row[parents[static_cast<size_t>(m)]];
  }
  for (int32_t m = beams - 1; m >= 0; --m) {
    const int32_t parent = parents[static_cast<size_t>(m)];
    if (parent >= 0 && parent < m) row[m] = row[parent];
  }
}

// Why it is not the library's: it is right for all parents that rise, and wrong for many that do not.
TEST(AttentionPermute, TwoSweepsNeedParentsThatRise) {
  constexpr int32_t kBeams = 5;
  const std::vector<char> before = rows_of(1, kBeams, 1);
  int64_t wrong_rising = 0, wrong_others = 0;
  for_all_parents(kBeams, [&](const std::vector<int32_t>& parents) {
    if (std::count(parents.begin(), parents.end(), -1) != 0) return;
    std::vector<char> after = before;
    sweep_twice(after.data(), parents);
    const bool wrong = !follows(before, after, {after.data(), 1, kBeams, 1}, parents);
    (std::is_sorted(parents.begin(), parents.end()) ? wrong_rising : wrong_others) += wrong ? 1 : 0;
  });
  EXPECT_EQ(wrong_rising, 0);
  EXPECT_GT(wrong_others, 1000);  // of 2999
}

}  // namespace
}  // namespace sidbeam::runner
