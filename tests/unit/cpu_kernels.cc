// The kernels that choose candidates, against straightforward code. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include <functional>
#include <numeric>

#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kUntouched = 0xDEADBEEF;

// Scores with a distribution of ties of their own.
std::vector<float> draw_scores(Random& random, int64_t n) {
  Values values = draw_values(random, SIDBEAM_DTYPE_F32);
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

// In arrays of exactly their sizes plus one element, which must not change.
void check_write_chosen(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<size_t>(random.below(random.among({20, 200})));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": n " << n);
  const size_t candidates = n + static_cast<size_t>(random.below(9));
  const std::vector<float> scores = draw_scores(random, static_cast<int32_t>(candidates));
  std::vector<uint32_t> places, order(candidates);
  std::vector<int64_t> next(300);
  const int bits = number_bits(static_cast<uint32_t>(random.among({5, 1 << 20, (1 << 20) + 1, SIDBEAM_MAX_CODES})));
  for (size_t i = 0; i < candidates; ++i)
    places.push_back(place_of(static_cast<int32_t>(random.below(256)),
                              static_cast<uint32_t>(random.below(int64_t{1} << bits)), bits));
  for (int64_t& state : next) state = random.one_in(3) ? -1 : static_cast<int64_t>(random.engine() >> 1);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random.engine);
  std::vector<float> got_scores(n + 1, 7.0F);
  std::vector<int32_t> parents(n + 1, -7), tokens(n + 1, -7), old_parents(n + 1, -7), old_tokens(n + 1, -7);
  std::vector<int64_t> states(n + 1, -7);
  kernels.write_chosen(
      {scores.data(), places.data(), order.data(), static_cast<int32_t>(n)}, next.data(),
      {got_scores.data(), parents.data(), tokens.data(), old_parents.data(), old_tokens.data(), states.data(), bits});
  EXPECT_EQ(parents, old_parents);
  EXPECT_EQ(tokens, old_tokens);
  for (size_t m = 0; m < n; ++m) {
    const uint32_t place = places[order[m]];
    EXPECT_EQ(got_scores[m], scores[order[m]]) << m;
    EXPECT_EQ(parents[m], beam_of(place, bits)) << m;
    EXPECT_EQ(static_cast<uint32_t>(tokens[m]), number_of(place, bits)) << m;
    EXPECT_EQ(states[m], next[static_cast<size_t>(beam_of(place, bits))]) << m;
  }
  EXPECT_TRUE(got_scores[n] == 7.0F && parents[n] == -7 && tokens[n] == -7 && states[n] == -7);
}

TEST(CpuKernels, WritesTheChosenInOrder) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) check_write_chosen(kernels, seed);
  });
}

// For each group of blocks its own maximum, then those of its blocks. The place where the lanes of the maxima end gives
// the width of the vectors.
void check_maxima(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto dtype = static_cast<int32_t>(random.below(3));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": dtype " << dtype);
  Values values = draw_values(random, dtype);
  const int64_t columns = 1 + random.below(random.among({70, 1100, 9000}));
  const int64_t maxima_count = maxima_size(columns) / kVectorSlack;
  const TestRow row = draw_row(values, dtype, columns);
  Elements elements = row.elements();
  if (random.one_in(4)) elements.soft_cap = 20.0F;
  if (random.one_in(4)) elements.inverse_temperature = 0.75F;
  std::vector<float> maxima(static_cast<size_t>(maxima_size(columns)), kNan);
  PartialSum sum;
  kernels.sum_exp(elements, columns, maxima.data(), sum);
  const int64_t written =
      std::find_if(maxima.begin(), maxima.end(), [](float x) { return std::isnan(x); }) - maxima.begin();
  ASSERT_EQ(written % maxima_count, 0);
  const int64_t width = written / maxima_count;
  std::vector<float> x(static_cast<size_t>(columns + kVectorSlack));
  kernels.load(elements, 0, columns, x.data());
  for (int64_t i = 0; i < maxima_count; ++i) {
    const int64_t group = i / (1 + kGroup), block = i % (1 + kGroup) - 1;
    const int64_t first = group * kGroupColumns + (block < 0 ? 0 : block * kBlock);
    const float bound = *std::max_element(maxima.begin() + i * width, maxima.begin() + (i + 1) * width);
    float largest = -kInfinity;
    for (int64_t c = first; c < std::min(first + (block < 0 ? kGroupColumns : kBlock), columns); ++c)
      largest = std::max(largest, x[static_cast<size_t>(c)]);
    ASSERT_TRUE(bound == largest || (bound == kInfinity && values.shape == Shape::kHuge))
        << "group " << group << ", block " << block << ": " << bound << ", expected " << largest;
  }
}

TEST(CpuKernels, MaximaOfASumAreThoseOfItsBlocks) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) check_maxima(kernels, seed);
  });
}

// A threshold that equals some candidate to the bit, or lies one float beside it.
float draw_threshold(Random& random, const std::vector<Candidate>& all) {
  if (all.empty() || random.one_in(8)) return -kInfinity;
  const float score = all[static_cast<size_t>(random.below(static_cast<int64_t>(all.size())))].score;
  const int64_t side = random.below(4);
  return side == 0 ? std::nextafter(score, -kInfinity) : side == 1 ? std::nextafter(score, kInfinity) : score;
}

// Calls until all is done, with little room each time.
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
  Values values = draw_values(random, SIDBEAM_DTYPE_F32);
  const TestRow row = draw_row(values, SIDBEAM_DTYPE_F32, n);
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

// Codes of a list within a longer array, some of them none: in memory of exactly its size.
template <class Token>
void check_append_list(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto codes = static_cast<uint32_t>(1 + random.below(random.among({20, 3000})));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << codes << " codes of " << sizeof(Token) << " bytes");
  Values values = draw_values(random, SIDBEAM_DTYPE_F32);
  const TestRow row = draw_row(values, SIDBEAM_DTYPE_F32, codes);
  const RowScore score = draw_score(random, values.shape, 5U << 20);
  std::vector<Token> tokens(static_cast<size_t>(1 + random.below(random.among({20, 1000}))));
  for (Token& token : tokens) token = static_cast<Token>(random.below(random.one_in(20) ? 65536 : codes));
  const int64_t begin = random.below(std::ssize(tokens)), readable = std::ssize(tokens) - begin;
  const auto count = static_cast<int32_t>(1 + random.below(readable));
  std::vector<Candidate> all;
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t token = tokens[static_cast<size_t>(begin + i)];
    if (token < codes) add_candidate(all, score, row.at(token), token);
  }
  const float threshold = draw_threshold(random, all);
  const TokenList list{tokens.data() + begin, sizeof(Token), count, random.one_in(2) ? readable : count};
  expect_appended(random, all, threshold, [&](int32_t from, const Room& room) {
    return kernels.append_list(score, threshold, row.wide.data(), list, codes, from, room);
  });
}

TEST(CpuKernels, AppendListTakesCodesOnly) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 600 && !::testing::Test::HasFailure(); ++seed) {
      check_append_list<uint16_t>(kernels, seed);
      check_append_list<uint32_t>(kernels, seed);
    }
  });
}

// A row that a slice is of: scores of every size of rounding among them.
RowScore draw_slice_score(Random& random, const Values& values, int32_t beam) {
  RowScore score = draw_score(random, values.shape, place_of(beam, 0));
  if (!random.one_in(3)) return score;
  const auto magnitude = static_cast<float>(random.among({1, 1000, 1000000, 1000000000}));
  score.score = -magnitude * static_cast<float>(1 + random.below(1000)) / 999.0F;
  score.normalizer.ref = magnitude * static_cast<float>(random.below(1000)) / 777.0F;
  score.normalizer.rest = static_cast<float>(random.below(1000)) * 1e-6F;
  return score;
}

// A batch of slices, and all of their candidates.
struct SliceBatch {
  TestSlice tests[kMostSlices];
  RowSlice rows[kMostSlices];
  int32_t count = 0;
  std::vector<Candidate> all;
  std::vector<size_t> ends;  // of the rows' candidates in `all`
};

void draw_batch(const Kernels& kernels, Random& random, SliceBatch& batch) {
  const auto dtype = static_cast<int32_t>(random.below(3));
  Values values = draw_values(random, dtype);
  batch.count = static_cast<int32_t>(1 + random.below(kMostSlices));
  for (int32_t r = 0; r < batch.count; ++r) {
    TestSlice& test = batch.tests[r];
    draw_slice(random, kernels, values, dtype, 1 + random.below(random.among({20, 200, 2000, 9000})), test);
    batch.rows[r] = {draw_slice_score(random, values, 7 + r), test.slice};
    for (int64_t t = 0; t < test.slice.codes; ++t)
      if (test.counts(t)) add_candidate(batch.all, batch.rows[r].score, test.x(t), static_cast<uint32_t>(t));
    batch.ends.push_back(batch.all.size());
  }
}

// A bound on x decides which blocks are passed over: none that holds a candidate may be, whatever scores and
// normalisers are.
void check_append_slices(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  SliceBatch batch;
  draw_batch(kernels, random, batch);
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << batch.count << " rows of dtype "
                                    << batch.tests[0].row.dtype);
  const float threshold = draw_threshold(random, batch.all);
  SliceCursor next;
  expect_appended(random, batch.all, threshold, [&](int32_t call, const Room& room) {
    const SliceCursor before = next;
    const int32_t kept = kernels.append_slices(batch.rows, batch.count, threshold, next, room);
    EXPECT_TRUE(kept > 0 || next.row > before.row || next.block > before.block) << "stays at row " << next.row;
    return Appended{next.row == batch.count || ::testing::Test::HasFailure() ? -1 : call + 1, kept};
  });
}

// A wrong guess costs time, never a candidate. Where valid codes are like all others, the guess lets those that are
// wanted through, and not many more.
void check_likely_threshold(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  Values values{random, Shape::kRandom, 0};
  const int64_t codes = 1500 + random.below(1000), density = random.among({1, 2, 5});
  TestSlice tests[kMostSlices];
  RowSlice rows[kMostSlices];
  std::vector<Candidate> all;
  for (int32_t r = 0; r < kMostSlices; ++r) {
    do {
      tests[r] = {};
      draw_slice(random, kernels, values, SIDBEAM_DTYPE_F32, codes, tests[r]);
    } while (tests[r].maxima.empty() || tests[r].mask.size() > 0);
    tests[r].mask.assign(static_cast<size_t>(codes / 64 + 1), 0);
    for (int64_t t = 0; t < codes; ++t)
      if (random.one_in(density)) tests[r].mask[static_cast<size_t>(t / 64)] |= uint64_t{1} << t % 64;
    tests[r].slice.mask = tests[r].mask.data();
    tests[r].slice.valid = codes / density;
    rows[r] = {{-0.25F * static_cast<float>(r), {}, false, place_of(r, 0)}, tests[r].slice};
    for (int64_t t = 0; t < codes; ++t)
      if (tests[r].counts(t)) add_candidate(all, rows[r].score, tests[r].x(t), static_cast<uint32_t>(t));
  }
  const auto count = static_cast<int32_t>(50 + random.below(50));
  const float threshold = kernels.likely_threshold(rows, kMostSlices, count);
  const auto above = std::count_if(all.begin(), all.end(), [&](const Candidate& c) { return c.score > threshold; });
  EXPECT_GE(above, count) << "seed " << seed;
  const bool narrow = std::string(kernels.name) == "baseline";  // its maxima, which have no lanes, say too little
  if (!narrow) {
    EXPECT_LE(above, 3 * count) << "seed " << seed;
  }
  rows[random.below(kMostSlices)].slice.maxima = nullptr;
  EXPECT_EQ(kernels.likely_threshold(rows, kMostSlices, count), -kInfinity);
}

TEST(CpuKernels, LikelyThresholdLetsThroughALittleMore) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= (SIDBEAM_SANITIZED ? 10 : 30) && !::testing::Test::HasFailure(); ++seed)
      check_likely_threshold(kernels, seed);
  });
}

// The k-th best does not fall below it, and few more than k are above.
void check_near_best(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  Values values = draw_values(random, SIDBEAM_DTYPE_F32);
  const int64_t n = 2 + random.below(random.among({10, 300, 3000}));
  const auto k = static_cast<int32_t>(1 + random.below(n - 1));
  std::vector<float> scores;
  for (int64_t i = 0; i < n; ++i) scores.push_back(values.next() + 0.0F);
  std::vector<float> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  scores.resize(static_cast<size_t>(n + kVectorSlack), kInfinity);
  const float bound = kernels.near_best(scores.data(), static_cast<int32_t>(n), k);
  EXPECT_LE(bound, sorted[static_cast<size_t>(k) - 1]) << "seed " << seed;
  EXPECT_LE(std::count_if(sorted.begin(), sorted.end(), [&](float score) { return score > bound; }), k + k / 8)
      << "seed " << seed;
}

TEST(CpuKernels, NearBestIsReached) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) check_near_best(kernels, seed);
  });
}

TEST(CpuKernels, AppendSlicesTakesExactlyWhatIsAboveTheThreshold) {
  constexpr uint64_t kSeeds = SIDBEAM_SANITIZED ? 200 : 800;
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) check_append_slices(kernels, seed);
  });
}

}  // namespace
}  // namespace sidbeam::cpu
