// The distinct codes of a range: runs that are read and runs that are searched. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/distinct_codes.h"

#include <vector>

#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

// A rising column of runs: about `length` long each, now and then far shorter or longer.
std::vector<uint16_t> runs_of(Random& random, uint32_t codes, int64_t length) {
  std::vector<uint16_t> column;
  for (uint32_t code = 0; code < codes; ++code) {
    if (random.one_in(5)) continue;
    int64_t n = 1 + random.below(2 * length);
    if (random.one_in(4)) n = 1 + random.below(3);
    if (random.one_in(8)) n *= 20;
    column.insert(column.end(), static_cast<size_t>(n), static_cast<uint16_t>(code));
  }
  return column;
}

void check_codes(const std::vector<uint16_t>& column, uint64_t lo, uint64_t hi, uint32_t most) {
  std::vector<uint32_t> expected;
  for (uint64_t i = lo; i < hi && expected.size() < most; ++i)
    if (i == lo || column[i] != column[i - 1]) expected.push_back(column[i]);
  std::vector<uint32_t> codes(size_t{most} + 1);
  const uint32_t n = distinct_codes(UintArray{column.data(), 2}, lo, hi, most, codes.data());
  codes.resize(n);
  EXPECT_EQ(codes, expected);
}

TEST(CpuDistinctCodes, AreThoseOfEveryRun) {
  for (uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    Random random(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto codes = static_cast<uint32_t>(1 + random.below(60));
    const std::vector<uint16_t> column = runs_of(random, codes, random.among({1, 10, 100, 1000}));
    const auto size = static_cast<uint64_t>(column.size());
    check_codes(column, 0, size, codes);
    if (size == 0) continue;
    const auto lo = static_cast<uint64_t>(random.below(static_cast<int64_t>(size)));
    check_codes(column, lo, size, codes);
    check_codes(column, lo, lo + static_cast<uint64_t>(random.below(static_cast<int64_t>(size - lo))) + 1, codes);
    check_codes(column, lo, lo, codes);
    check_codes(column, 0, size, 1 + codes / 2);
  }
}

// Damage: a search may then miss a code, but reads and writes stay within bounds.
TEST(CpuDistinctCodes, StayWithinBoundsInDamage) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const int64_t size = random.among({40, 4000});
    std::vector<uint16_t> column;
    for (int64_t i = 0; i < size; ++i) column.push_back(static_cast<uint16_t>(random.below(random.among({2, 50}))));
    const auto most = static_cast<uint32_t>(1 + random.below(20));
    std::vector<uint32_t> codes(most, ~0U);
    const uint32_t n = distinct_codes(UintArray{column.data(), 2}, 0, column.size(), most, codes.data());
    EXPECT_GE(n, 1U);
    EXPECT_LE(n, most);
    for (uint32_t i = 0; i < n; ++i) EXPECT_LT(codes[i], 50U);
  }
}

}  // namespace
}  // namespace sidbeam::cpu
