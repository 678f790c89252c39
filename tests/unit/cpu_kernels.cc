// The kernels that choose candidates, against code that is plain. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kUntouched = 0xDEADBEEF;

// Scores with a distribution of ties of their own.
std::vector<float> draw_scores(Random& random, int64_t n) {
  Values values = draw_values(random, SIDBEAM_F32);
  std::vector<float> scores;
  for (int64_t i = 0; i < n; ++i) scores.push_back(std::max(values.next(), -3e38F) + 0.0F);
  return scores;
}

void check_keep_best(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<int32_t>(2 + random.below(random.among({4, 40, 300, 3000})));
  const auto k = static_cast<int32_t>(1 + random.below(n - 1));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << k << " of " << n);
  std::vector<float> scores = draw_scores(random, n);
  std::vector<Candidate> expected;
  for (int32_t i = 0; i < n; ++i) expected.push_back({scores[static_cast<size_t>(i)], static_cast<uint32_t>(i * 3)});
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  const float worst = expected[static_cast<size_t>(k) - 1].score;
  expected.resize(static_cast<size_t>(k));
  std::sort(expected.begin(), expected.end(), [](const Candidate& a, const Candidate& b) { return a.place < b.place; });
  std::vector<uint32_t> places;
  for (int32_t i = 0; i < n; ++i) places.push_back(static_cast<uint32_t>(i * 3));
  scores.resize(static_cast<size_t>(n + kVectorSlack), kInfinity);  // what lies beyond must not count
  places.resize(scores.size(), kUntouched);
  EXPECT_EQ(kernels.keep_best(scores.data(), places.data(), n, k), worst);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(scores[i], expected[i].score) << i;
    ASSERT_EQ(places[i], expected[i].place) << i;
  }
}

TEST(CpuKernels, KeepBestKeepsTheFirstOfTiesInOrder) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 600 && !::testing::Test::HasFailure(); ++seed) check_keep_best(kernels, seed);
  });
}

void check_rank(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<int32_t>(1 + random.below(random.among({4, 40, 400})));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": n " << n);
  std::vector<float> scores = draw_scores(random, n);
  std::vector<uint32_t> expected;
  for (const float score : scores)
    expected.push_back(
        static_cast<uint32_t>(std::count_if(scores.begin(), scores.end(), [&](float other) { return other > score; })));
  scores.resize(static_cast<size_t>(n + 4 * kVectorSlack), kInfinity);
  std::vector<uint32_t> ranks(scores.size());
  kernels.rank(scores.data(), n, ranks.data());
  ranks.resize(expected.size());
  EXPECT_EQ(ranks, expected);
}

TEST(CpuKernels, RankCountsWhatIsHigher) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) check_rank(kernels, seed);
  });
}

// Where the lanes of the maxima end tells how wide the vectors are.
void check_maxima(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto dtype = static_cast<int32_t>(random.below(3));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": dtype " << dtype);
  Values values = draw_values(random, dtype);
  const int64_t columns = 1 + random.below(random.among({70, 1100, 9000})), blocks = (columns + kBlock - 1) / kBlock;
  const TestRow row = draw_row(values, dtype, columns);
  Elements elements = row.elements();
  if (random.one_in(4)) elements.soft_cap = 20.0F;
  if (random.one_in(4)) elements.inverse_temperature = 0.75F;
  std::vector<float> maxima(static_cast<size_t>((blocks + kGroup) * kVectorSlack), kNan);
  kernels.sum_exp(elements, columns, maxima.data());
  const int64_t written =
      std::find_if(maxima.begin(), maxima.end(), [](float x) { return std::isnan(x); }) - maxima.begin();
  ASSERT_EQ(written % (blocks + kGroup), 0);
  const int64_t width = written / (blocks + kGroup);
  std::vector<float> x(static_cast<size_t>(columns + kVectorSlack));
  kernels.load(elements, 0, columns, x.data());
  for (int64_t b = 0; b < blocks + kGroup; ++b) {
    const float bound = *std::max_element(maxima.begin() + b * width, maxima.begin() + (b + 1) * width);
    float largest = -kInfinity;
    for (int64_t c = b * kBlock; c < std::min((b + 1) * kBlock, columns); ++c)
      largest = std::max(largest, x[static_cast<size_t>(c)]);
    ASSERT_TRUE(bound == largest || (b < blocks && bound == kInfinity && values.shape == Shape::kHuge))
        << "block " << b << " of " << blocks << ": " << bound << ", expected " << largest;
  }
}

TEST(CpuKernels, MaximaOfASumAreThoseOfItsBlocks) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) check_maxima(kernels, seed);
  });
}

// A threshold that some candidate has to the bit, or lies one float beside.
float draw_threshold(Random& random, const std::vector<Candidate>& all) {
  if (all.empty() || random.one_in(8)) return -kInfinity;
  const float score = all[static_cast<size_t>(random.below(static_cast<int64_t>(all.size())))].score;
  const int64_t side = random.below(4);
  return side == 0 ? std::nextafter(score, -kInfinity) : side == 1 ? std::nextafter(score, kInfinity) : score;
}

// Calls until all is done, each time with room for few.
template <class Call>
void expect_appended(Random& random, const std::vector<Candidate>& all, float threshold, const Call& call) {
  std::vector<Candidate> expected;
  for (const Candidate& candidate : all)
    if (candidate.score > threshold) expected.push_back(candidate);
  size_t seen = 0;
  for (int32_t next = 0; next >= 0;) {
    const auto count = static_cast<int32_t>(kBlock + random.below(100));
    std::vector<float> scores(static_cast<size_t>(count + kVectorSlack));
    std::vector<uint32_t> places(scores.size());
    const Appended got = call(next, Room{scores.data(), places.data(), count});
    ASSERT_LE(got.kept, count);
    ASSERT_LE(seen + static_cast<size_t>(got.kept), expected.size()) << "threshold " << threshold;
    ASSERT_TRUE(got.next == -1 || got.next > next || got.kept > 0) << "stays at " << next;
    for (int32_t i = 0; i < got.kept; ++i, ++seen) {
      ASSERT_EQ(scores[static_cast<size_t>(i)], expected[seen].score) << "candidate " << seen;
      ASSERT_EQ(places[static_cast<size_t>(i)], expected[seen].place) << "candidate " << seen;
    }
    next = got.next;
  }
  EXPECT_EQ(seen, expected.size()) << "threshold " << threshold;
}

void check_append(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<int32_t>(1 + random.below(random.among({20, 200, 2000})));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": n " << n);
  Values values = draw_values(random, SIDBEAM_F32);
  const TestRow row = draw_row(values, SIDBEAM_F32, n);
  const RowScore score = draw_score(random, values.shape, 5U << 20);
  std::vector<uint32_t> tokens;
  std::vector<Candidate> all;
  for (int32_t i = 0; i < n; ++i) {
    tokens.push_back((tokens.empty() ? 0 : tokens.back() + 1) + static_cast<uint32_t>(random.below(9)));
    add_candidate(all, score, row.at(i), tokens.back());
  }
  const float threshold = draw_threshold(random, all);
  expect_appended(random, all, threshold, [&](int32_t from, const Room& room) {
    return kernels.append(score, threshold, row.wide.data(), tokens.data(), from, n, room);
  });
}

TEST(CpuKernels, AppendTakesExactlyWhatIsAboveTheThreshold) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 600 && !::testing::Test::HasFailure(); ++seed) check_append(kernels, seed);
  });
}

// Blocks are passed over by a bound on x: none that holds a candidate may be, whatever scores and normalisers are.
void check_append_slice(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto dtype = static_cast<int32_t>(random.below(3));
  Values values = draw_values(random, dtype);
  TestSlice test;
  draw_slice(random, kernels, values, dtype, 1 + random.below(random.among({20, 200, 2000, 9000})), test);
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": dtype " << dtype << ", columns " << test.slice.first_column
                                    << " + " << test.slice.codes << " of " << test.slice.columns
                                    << (test.mask.empty() ? "" : ", mask") << (test.maxima.empty() ? "" : ", maxima"));
  RowScore score = draw_score(random, values.shape, 7U << 20);
  if (random.one_in(3)) {  // roundings of every size
    const auto magnitude = static_cast<float>(random.among({1, 1000, 1000000, 1000000000}));
    score.score = -magnitude * static_cast<float>(1 + random.below(1000)) / 999.0F;
    score.normalizer.ref = magnitude * static_cast<float>(random.below(1000)) / 777.0F;
    score.normalizer.rest = static_cast<float>(random.below(1000)) * 1e-6F;
  }
  std::vector<Candidate> all;
  for (int64_t t = 0; t < test.slice.codes; ++t)
    if (test.counts(t)) add_candidate(all, score, test.x(t), static_cast<uint32_t>(t));
  const float threshold = draw_threshold(random, all);
  expect_appended(random, all, threshold, [&](int32_t from, const Room& room) {
    return kernels.append_slice(score, threshold, test.slice, from, room);
  });
}

TEST(CpuKernels, AppendSliceTakesExactlyWhatIsAboveTheThreshold) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 1500 && !::testing::Test::HasFailure(); ++seed) check_append_slice(kernels, seed);
  });
}

}  // namespace
}  // namespace sidbeam::cpu
