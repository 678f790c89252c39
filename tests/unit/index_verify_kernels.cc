// The loops of verification give the same answers for every instruction set that they are compiled for.
// SPDX-License-Identifier: Apache-2.0
#include "index/verify/bulk_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "index/hash_seed.h"

namespace sidbeam::testing {
namespace {

const BulkKernels& kBaseline = bulk_kernels(CpuTarget::kBaseline);

class IndexVerifyKernels : public ::testing::Test {
 protected:
  // Counts that fill vectors and that do not, up to a block.
  void for_each_target(const std::function<void(const BulkKernels&, uint32_t count)>& body) {
    if (best_cpu_target() == CpuTarget::kBaseline) GTEST_SKIP() << "this machine has the baseline only";
    for (const CpuTarget target : {CpuTarget::kAvx2, CpuTarget::kAvx512}) {
      if (!has_cpu_target(target)) continue;
      for (uint32_t count = 1; count <= kSids; count += count < 80 ? 1 : 36) {
        for (int round = 0; round < 4; ++round) {
          SCOPED_TRACE(std::string(cpu_target_name(target)) + ", " + std::to_string(count));
          body(bulk_kernels(target), count);
        }
      }
    }
  }

  template <class T>
  T below(uint64_t bound) {
    return static_cast<T>(random_() % bound);
  }
  template <class T>
  std::vector<T> draw(size_t count, uint64_t bound) {
    std::vector<T> out(count);
    for (T& value : out) value = below<T>(bound);
    return out;
  }
  // From `first` on; half the time one of them does not rise.
  template <class T>
  std::vector<T> rising(size_t count, T first, uint64_t most) {
    std::vector<T> out(count, first);
    for (size_t i = 1; i < count; ++i) out[i] = static_cast<T>(out[i - 1] + 1 + below<T>(most));
    if (below<int>(2) == 0) out[below<size_t>(count)] = first;
    return out;
  }
  std::vector<EdgeFlag> flags(size_t count, uint64_t of) {
    std::vector<EdgeFlag> out(count);
    for (EdgeFlag& flag : out) flag = below<uint64_t>(of) == 0 ? 0xffff : 0;
    return out;
  }

  template <class T, class Follow, class Rise, class Counts>
  void expect_same_pointers(uint32_t count, std::pair<Follow, Follow> follow, std::pair<Rise, Rise> rise,
                            std::pair<Counts, Counts> counts) {
    constexpr T kFirst = 70000;
    const std::vector<T> pointers = rising<T>(count + 1, kFirst, 4);
    const uint64_t last = kFirst + below<uint64_t>(uint64_t{4} * count);
    std::vector<uint16_t> out[2] = {std::vector<uint16_t>(count + kPointers), std::vector<uint16_t>(count + kPointers)};
    uint64_t widest[2] = {2, 2}, jumps[2] = {1, 1};
    const uint32_t more = follow.first(pointers.data() + 1, count, kFirst, last, out[0].data(), widest[0]);
    ASSERT_EQ(follow.second(pointers.data() + 1, count, kFirst, last, out[1].data(), widest[1]), more);
    if (more != kFalls) {
      out[0].resize(more);
      out[1].resize(more);
      EXPECT_EQ(out[1], out[0]);
      EXPECT_EQ(widest[1], widest[0]);
    }
    EXPECT_EQ(rise.second(pointers.data() + 1, count, jumps[1], widest[1]),
              rise.first(pointers.data() + 1, count, jumps[0], widest[0]));
    EXPECT_EQ(jumps[1], jumps[0]);
    EXPECT_EQ(widest[1], widest[0]);
    const std::vector<T> counted = rising<T>(count, kFirst, 1);
    EXPECT_EQ(counts.second(counted.data(), count, kFirst), counts.first(counted.data(), count, kFirst));
  }

  template <class T, class Begins, class Expand, class Equal>
  void expect_same_codes(uint32_t count, std::pair<Begins, Begins> begins, std::pair<Expand, Expand> expand,
                         std::pair<Equal, Equal> equal) {
    // Few codes, which fall where the flags let them, except one at times.
    const std::vector<EdgeFlag> above = flags(count, 3);
    std::vector<T> codes(count);
    for (uint32_t i = 1; i < count; ++i)
      codes[i] = above[i] != 0 ? below<T>(9) : static_cast<T>(codes[i - 1] + below<T>(2));
    if (below<int>(2) == 0) codes[below<size_t>(count)] = 0;
    std::vector<EdgeFlag> out[2] = {above, above};
    EXPECT_EQ(begins.second(codes.data(), 1, above.data(), count, out[1].data()),
              begins.first(codes.data(), 1, above.data(), count, out[0].data()));
    EXPECT_EQ(out[1], out[0]);
    std::vector<uint32_t> wide(codes.begin(), codes.end());
    if (below<int>(2) == 0) ++wide[below<size_t>(count)];
    EXPECT_EQ(equal.second(codes.data(), wide.data(), count), equal.first(codes.data(), wide.data(), count));

    std::vector<uint16_t> starts = {0};
    while (starts.back() < count)
      starts.push_back(static_cast<uint16_t>(std::min<uint32_t>(count, starts.back() + 1 + below<uint32_t>(20))));
    std::vector<uint32_t> expanded[2] = {std::vector<uint32_t>(count + 8), std::vector<uint32_t>(count + 8)};
    const auto edges = static_cast<uint32_t>(starts.size() - 1);
    EXPECT_EQ(expand.second(codes.data(), starts.data(), edges, expanded[1].data()),
              expand.first(codes.data(), starts.data(), edges, expanded[0].data()));
    expanded[0].resize(count);
    expanded[1].resize(count);
    EXPECT_EQ(expanded[1], expanded[0]);
  }

  template <class T, class Unmark, class AreMarks>
  void expect_same_marks(uint32_t count, std::pair<Unmark, Unmark> unmark, std::pair<AreMarks, AreMarks> are_marks) {
    const std::vector<EdgeFlag> begins = flags(count, 1 + below<uint64_t>(2));
    std::vector<T> words = draw<T>(count, kMark<T>);
    for (uint32_t i = 0; i < count; ++i) words[i] = static_cast<T>(words[i] | (begins[i] != 0 ? kMark<T> : 0));
    if (below<int>(2) == 0) words[below<size_t>(count)] ^= kMark<T>;
    std::vector<uint32_t> out[2] = {std::vector<uint32_t>(count), std::vector<uint32_t>(count)};
    bool all[2] = {};
    EXPECT_EQ(unmark.second(words.data(), count, out[1].data(), all[1]),
              unmark.first(words.data(), count, out[0].data(), all[0]));
    EXPECT_EQ(out[1], out[0]);
    EXPECT_EQ(all[1], all[0]);
    EXPECT_EQ(are_marks.second(words.data(), begins.data(), count),
              are_marks.first(words.data(), begins.data(), count));
  }

  template <class T, class Used>
  void expect_same_slots(const BulkKernels& kernels, uint32_t count, std::pair<Used, Used> list_used) {
    std::vector<uint64_t> keys = draw<uint64_t>(count, uint64_t{1} << 40);
    std::vector<T> ordinals = draw<T>(count, 1000);
    for (uint32_t i = 0; i < count; ++i) {
      if (below<int>(3) == 0) continue;
      keys[i] = kEmptySlot;
      ordinals[i] = 0;
    }
    if (below<int>(4) == 0) ordinals[below<size_t>(count)] = 7;
    const auto slots = std::make_unique<UsedSlots[]>(2);
    const uint32_t used = list_used.first(keys.data(), ordinals.data(), count, slots[0]);
    ASSERT_EQ(list_used.second(keys.data(), ordinals.data(), count, slots[1]), used);
    if (used == kStray) return;
    const Probing probing{key_mix(random_()), pair_mix(), 1023, below<int>(3) == 0 ? 1000 + below<uint64_t>(24) : 1023};
    for (uint32_t k = 0; k < used; ++k) {
      EXPECT_EQ(slots[1].keys[k], slots[0].keys[k]);
      EXPECT_EQ(slots[1].ordinals[k], slots[0].ordinals[k]);
      EXPECT_EQ(slots[1].slots[k], slots[0].slots[k]);
      // Most are reached from where their keys begin.
      slots[0].run[k] = slots[1].run[k] = (slots[0].slots[k] - mix_key(probing.mix, slots[0].keys[k])) & 1023;
    }
    if (used > 0 && below<int>(2) == 0) {
      const auto k = below<size_t>(used);
      slots[0].run[k] /= 2;
      slots[1].run[k] /= 2;
    }
    uint64_t sum[2] = {5, 5};
    EXPECT_EQ(kernels.are_reached(slots[1], used, 2048, probing, sum[1]),
              kBaseline.are_reached(slots[0], used, 2048, probing, sum[0]));
    EXPECT_EQ(sum[1], sum[0]);
  }

  PairMix pair_mix() { return {random_() | 1, random_() | 1, random_() | 1}; }

  std::mt19937_64 random_{17};
};

TEST_F(IndexVerifyKernels, AgreeOnPointers) {
  for_each_target([&](const BulkKernels& kernels, uint32_t count) {
    expect_same_pointers<uint32_t>(count, std::pair(kBaseline.pointers_32.follow, kernels.pointers_32.follow),
                                   std::pair(kBaseline.pointers_32.rise, kernels.pointers_32.rise),
                                   std::pair(kBaseline.pointers_32.counts, kernels.pointers_32.counts));
    expect_same_pointers<uint64_t>(count, std::pair(kBaseline.pointers_64.follow, kernels.pointers_64.follow),
                                   std::pair(kBaseline.pointers_64.rise, kernels.pointers_64.rise),
                                   std::pair(kBaseline.pointers_64.counts, kernels.pointers_64.counts));
  });
}

TEST_F(IndexVerifyKernels, AgreeOnCodes) {
  for_each_target([&](const BulkKernels& kernels, uint32_t count) {
    expect_same_codes<uint16_t>(count, std::pair(kBaseline.codes_16.begins, kernels.codes_16.begins),
                                std::pair(kBaseline.codes_16.expand, kernels.codes_16.expand),
                                std::pair(kBaseline.codes_16.equal, kernels.codes_16.equal));
    expect_same_codes<uint32_t>(count, std::pair(kBaseline.codes_32.begins, kernels.codes_32.begins),
                                std::pair(kBaseline.codes_32.expand, kernels.codes_32.expand),
                                std::pair(kBaseline.codes_32.equal, kernels.codes_32.equal));
    const std::vector<uint16_t> codes = draw<uint16_t>(count + 1, 65536);
    const std::vector<uint32_t> others(codes.begin(), codes.end());
    EXPECT_EQ(kernels.codes_16.falls(codes.data() + 1, count), kBaseline.codes_16.falls(codes.data() + 1, count));
    EXPECT_EQ(kernels.codes_32.falls(others.data() + 1, count), kBaseline.codes_32.falls(others.data() + 1, count));
    std::vector<uint32_t> wide[2] = {std::vector<uint32_t>(count), std::vector<uint32_t>(count)};
    EXPECT_EQ(kernels.widen(codes.data(), count, wide[1].data()), kBaseline.widen(codes.data(), count, wide[0].data()));
    EXPECT_EQ(wide[1], wide[0]);
    EXPECT_EQ(kernels.most(wide[0].data(), count), kBaseline.most(wide[0].data(), count));

    const std::vector<EdgeFlag> begins = flags(count, 1 + below<uint64_t>(4));
    std::vector<uint16_t> places[2] = {std::vector<uint16_t>(count + 16), std::vector<uint16_t>(count + 16)};
    const uint32_t set = kBaseline.list(begins.data(), count, places[0].data());
    ASSERT_EQ(kernels.list(begins.data(), count, places[1].data()), set);
    places[0].resize(set);
    places[1].resize(set);
    EXPECT_EQ(places[1], places[0]);
    EXPECT_EQ(kernels.widest_gap(places[0].data(), set), kBaseline.widest_gap(places[0].data(), set));
  });
}

TEST_F(IndexVerifyKernels, AgreeOnTails) {
  for_each_target([&](const BulkKernels& kernels, uint32_t count) {
    expect_same_marks<uint16_t>(count, std::pair(kBaseline.codes_16.unmark, kernels.codes_16.unmark),
                                std::pair(kBaseline.codes_16.are_marks, kernels.codes_16.are_marks));
    expect_same_marks<uint32_t>(count, std::pair(kBaseline.codes_32.unmark, kernels.codes_32.unmark),
                                std::pair(kBaseline.codes_32.are_marks, kernels.codes_32.are_marks));
    const auto width = 1 + below<uint64_t>(11);
    const std::vector<uint16_t> rows = draw<uint16_t>(count * width + 8, 65536);
    std::vector<uint16_t> columns[2] = {std::vector<uint16_t>(size_t{8} * count),
                                        std::vector<uint16_t>(size_t{8} * count)};
    kBaseline.transpose(rows.data(), width, count & ~15u, columns[0].data(), count);
    kernels.transpose(rows.data(), width, count & ~15u, columns[1].data(), count);
    EXPECT_EQ(columns[1], columns[0]);
  });
}

TEST_F(IndexVerifyKernels, AgreeOnSlots) {
  for_each_target([&](const BulkKernels& kernels, uint32_t count) {
    expect_same_slots<uint32_t>(kernels, count, std::pair(kBaseline.pointers_32.used, kernels.pointers_32.used));
    expect_same_slots<uint64_t>(kernels, count, std::pair(kBaseline.pointers_64.used, kernels.pointers_64.used));
    const std::vector<uint32_t> digits = draw<uint32_t>(count, 3000);
    std::vector<uint64_t> keys[2];
    keys[0] = keys[1] = draw<uint64_t>(count, uint64_t{1} << 50);
    kBaseline.add_digits(digits.data(), 3000, count, keys[0].data());
    kernels.add_digits(digits.data(), 3000, count, keys[1].data());
    EXPECT_EQ(keys[1], keys[0]);
    const Probing probing{key_mix(random_()), pair_mix(), 0, 0};
    EXPECT_EQ(kernels.sum_pairs(keys[0].data(), ~uint64_t{0} >> 9, probing, 1000, count),
              kBaseline.sum_pairs(keys[0].data(), ~uint64_t{0} >> 9, probing, 1000, count));
  });
}

}  // namespace
}  // namespace sidbeam::testing
