// The selection against std::stable_sort, on every instruction set. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/selection.h"

#include "cpu_rows.h"
#include "support/memory.h"

namespace sidbeam::cpu {
namespace {

constexpr int32_t kWidest = SIDBEAM_MAX_BEAMS;

// Candidates for a selection, and all that have come so far.
struct Feed {
  const Kernels& kernels;
  Random& random;
  Values values;
  int32_t dtype = 0, width = 0;
  int32_t beam = 0;
  std::vector<Candidate> all;
  std::vector<TestSlice> slices = {};  // which the selection may not have read yet

  // One beam, in one of the ways there are.
  void beam_to(Selection& selection) {
    const int64_t way = random.below(4);
    const RowScore row = draw_score(random, values.shape, place_of(beam++, 0));
    const int64_t most = std::min<int64_t>(random.among({5, 70, 700, 3000}), 20 + 2 * int64_t{width});
    if (way == 0) return pushes(selection, row, std::min<int64_t>(most, 70));
    if (way == 1) return list(selection, row, random.below(most));
    slice(selection, row, 1 + random.below(most));
  }
  void pushes(Selection& selection, const RowScore& row, int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      const float x = values.next();
      selection.push(score_of_one(row, x), row.place_base | static_cast<uint32_t>(t));
      add_candidate(all, row, x, static_cast<uint32_t>(t));
    }
  }
  void list(Selection& selection, const RowScore& row, int64_t count) {
    std::vector<float> x;
    std::vector<uint32_t> tokens;
    for (int64_t i = 0; i < count; ++i) {
      x.push_back(values.next());
      tokens.push_back((tokens.empty() ? 0 : tokens.back() + 1) + static_cast<uint32_t>(random.below(3)));
      add_candidate(all, row, x.back(), tokens.back());
    }
    selection.append(row, x.data(), tokens.data(), static_cast<int32_t>(count));
  }
  void slice(Selection& selection, const RowScore& row, int64_t codes) {
    slices.emplace_back();
    TestSlice& test = slices.back();
    draw_slice(random, kernels, values, dtype, codes, test);
    selection.append_slice(row, test.slice);
    for (int64_t t = 0; t < codes; ++t)
      if (test.counts(t)) add_candidate(all, row, test.x(t), static_cast<uint32_t>(t));
  }
};

// The invariant between appends, for the candidates since `first`: as many as are wanted are held, and a threshold is
// one of those that have been found.
void expect_bounds(const Selection& selection, const Feed& feed, size_t first) {
  const auto begin = feed.all.begin() + static_cast<int64_t>(first);
  const auto reach = std::count_if(
      begin, feed.all.end(), [&](const Candidate& candidate) { return candidate.score >= selection.threshold(); });
  if (selection.threshold() > -kInfinity) {
    EXPECT_GE(reach, feed.width) << "threshold " << selection.threshold();
  }
  EXPECT_GE(selection.count(), std::min<int64_t>(feed.all.end() - begin, feed.width));
  EXPECT_LE(selection.count(), Selection::capacity_for(feed.width));
}

void expect_best(Selection& selection, std::vector<Candidate> all, int32_t width) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  if (all.size() > static_cast<size_t>(width)) all.resize(static_cast<size_t>(width));
  ASSERT_EQ(selection.finish(), static_cast<int32_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(selection.scores()[i]), std::bit_cast<uint32_t>(all[i].score)) << i;
    ASSERT_EQ(selection.places()[i], all[i].place) << i;
  }
}

Feed draw_feed(const Kernels& kernels, Random& random) {
  const auto dtype = static_cast<int32_t>(random.below(3));
  const int32_t widths[] = {1, 2, 7, 16, 63, 64, 65, 100, 383, 384, 385, 500, 1000, kWidest};
  const int32_t width = random.one_in(2) ? widths[random.below(std::ssize(widths))]
                                         : static_cast<int32_t>(1 + random.below(random.one_in(8) ? kWidest : 200));
  return {kernels, random, draw_values(random, dtype), dtype, width, 0, {}};
}

std::string name_of(const Feed& feed, uint64_t seed) {
  return "seed " + std::to_string(seed) + ": width " + std::to_string(feed.width) + ", dtype " +
         std::to_string(feed.dtype) + ", shape " + std::to_string(static_cast<int>(feed.values.shape));
}

// One selection for the whole test, as a session has.
TEST(CpuSelection, IsAStableSort) {
  on_every_target([](const Kernels& kernels) {
    Selection selection(kernels, default_allocator(), kWidest);
    int64_t shrinks = 0;
    for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
      Random random(seed);
      Feed feed = draw_feed(kernels, random);
      SCOPED_TRACE(name_of(feed, seed));
      selection.reset(feed.width);
      EXPECT_EQ(selection.threshold(), -kInfinity);
      for (int64_t beams = random.below(30); beams > 0; --beams) {
        feed.beam_to(selection);
        if (!random.one_in(3)) continue;  // slices wait for what comes next
        selection.flush();
        expect_bounds(selection, feed, 0);
      }
      expect_best(selection, feed.all, feed.width);
      shrinks += selection.shrinks();
    }
    EXPECT_GT(shrinks, 200);
  });
}

TEST(CpuSelection, PartsOfLaterBeamsAreAppended) {
  on_every_target([](const Kernels& kernels) {
    Selection whole(kernels, default_allocator(), kWidest), part(kernels, default_allocator(), kWidest);
    for (uint64_t seed = 1001; seed <= 1200 && !::testing::Test::HasFailure(); ++seed) {
      Random random(seed);
      Feed feed = draw_feed(kernels, random);
      SCOPED_TRACE(name_of(feed, seed));
      whole.reset(feed.width);
      for (int64_t beams = random.below(6); beams > 0; --beams) feed.beam_to(whole);
      whole.flush();
      for (int64_t parts = 1 + random.below(3); parts > 0; --parts) {
        const size_t first = feed.all.size();
        part.reset(feed.width);
        for (int64_t beams = random.below(6); beams > 0; --beams) feed.beam_to(part);
        part.flush();
        expect_bounds(part, feed, first);
        whole.append(part);
        expect_bounds(whole, feed, 0);
      }
      expect_best(whole, feed.all, feed.width);
    }
  });
}

// Nothing ever beats the candidates that are held: the workspace fills once and the first are kept.
TEST(CpuSelection, OfEqualsTheFirstAreKept) {
  on_every_target([](const Kernels& kernels) {
    Selection selection(kernels, default_allocator(), 50);
    selection.reset(50);
    for (uint32_t place = 0; place < 5000; ++place) selection.push(-2.0F, place);
    EXPECT_EQ(selection.shrinks(), 1);
    EXPECT_EQ(selection.threshold(), -2.0F);
    ASSERT_EQ(selection.finish(), 50);
    for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(selection.places()[i], i);
  });
}

TEST(CpuSelection, MinusInfinityIsNoCandidate) {
  on_every_target([](const Kernels& kernels) {
    const std::vector<float> x(300, -kInfinity);
    std::vector<uint32_t> tokens(300);
    for (uint32_t i = 0; i < 300; ++i) tokens[i] = i;
    Selection selection(kernels, default_allocator(), 8);
    selection.reset(8);
    selection.push(-kInfinity, 0);
    selection.append(RowScore{}, x.data(), tokens.data(), 300);
    selection.append_slice(RowScore{}, {x.data(), SIDBEAM_DTYPE_F32, 300, 0, 300, nullptr, nullptr});
    selection.flush();
    EXPECT_EQ(selection.count(), 0);
    EXPECT_EQ(selection.finish(), 0);
  });
}

}  // namespace
}  // namespace sidbeam::cpu
