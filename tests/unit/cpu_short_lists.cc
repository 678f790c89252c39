// Lists of a few children, many at once, against one at a time. SPDX-License-Identifier: Apache-2.0
#include "backend/partial_sum.h"
#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

// Lists of one shape, of which as much may be read as a kernel may.
struct TestLists {
  std::vector<ShortList> lists;
  std::vector<float> x;
  std::vector<uint32_t> tokens;

  void draw(Random& random, int32_t n) {
    Values values = draw_values(random, SIDBEAM_DTYPE_F32);
    lists.resize(static_cast<size_t>(n));
    x.assign(lists.size() * kShortStride, std::numeric_limits<float>::quiet_NaN());
    tokens.assign(x.size(), ~0U);
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto count = static_cast<int32_t>(random.below(kMostShort + 1));
      const RowScore score = draw_score(random, values.shape, place_of(static_cast<int32_t>(i), 0));
      lists[i] = {x.data() + i * kShortStride, count, score};
      for (size_t c = 0; c < static_cast<size_t>(count); ++c) {
        x[i * kShortStride + c] = values.next();
        tokens[i * kShortStride + c] = static_cast<uint32_t>(random.below(1 << 20));
      }
    }
  }
};

uint64_t bits_of(const LogSum& log) {
  return uint64_t{std::bit_cast<uint32_t>(log.ref)} << 32 | std::bit_cast<uint32_t>(log.rest);
}

void check_sums(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  TestLists test;
  test.draw(random, static_cast<int32_t>(1 + random.below(40)));
  if (random.one_in(4))
    test.x[static_cast<size_t>(random.below(std::ssize(test.x)))] = random.one_in(2) ? kInfinity : NAN;
  std::vector<ShortList> lists = test.lists;
  kernels.sum_short(lists.data(), static_cast<int32_t>(lists.size()));
  for (size_t i = 0; i < lists.size(); ++i) {
    const Elements elements{lists[i].x, SIDBEAM_DTYPE_F32, 1.0F, 0.0F};
    const LogSum expected = log_of(sum_of(kernels, elements, lists[i].count));
    ASSERT_EQ(bits_of(lists[i].score.normalizer), bits_of(expected))
        << "seed " << seed << ", list " << i << " of " << lists[i].count << ": " << lists[i].score.normalizer.ref
        << ", expected " << expected.ref;
  }
}

TEST(CpuShortLists, SumsHaveTheBitsOfWholeRows) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 3000 && !::testing::Test::HasFailure(); ++seed) check_sums(kernels, seed);
  });
}

// In parts, each with room for a few lists.
void check_candidates(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  TestLists test;
  const auto n = static_cast<int32_t>(1 + random.below(40));
  test.draw(random, n);
  std::vector<Candidate> all, found;
  for (size_t i = 0; i < test.lists.size(); ++i)
    for (size_t c = 0; c < static_cast<size_t>(test.lists[i].count); ++c)
      add_candidate(all, test.lists[i].score, test.lists[i].x[c], test.tokens[i * kShortStride + c]);
  const float threshold =
      all.empty() || random.one_in(3) ? -kInfinity : all[static_cast<size_t>(random.below(std::ssize(all)))].score;
  std::erase_if(all, [&](const Candidate& each) { return !(each.score > threshold); });
  for (int32_t next = 0; next >= 0;) {
    float scores[kBlock + kVectorSlack];
    uint32_t places[kBlock + kVectorSlack];
    const Appended got =
        kernels.append_short(test.lists.data(), test.tokens.data(), next, n, threshold, {scores, places, kBlock});
    ASSERT_LE(got.kept, kBlock);
    for (int32_t i = 0; i < got.kept; ++i) found.push_back({scores[i], places[i]});
    ASSERT_TRUE(got.next == -1 || got.next > next);
    next = got.next;
  }
  ASSERT_EQ(found.size(), all.size()) << "seed " << seed;
  for (size_t i = 0; i < all.size(); ++i)
    ASSERT_TRUE(found[i].score == all[i].score && found[i].place == all[i].place) << "seed " << seed << ", " << i;
}

TEST(CpuShortLists, CandidatesAreThoseAboveTheThresholdInOrder) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 1000 && !::testing::Test::HasFailure(); ++seed) check_candidates(kernels, seed);
  });
}

// A level of random nodes, one of its codes damaged; arrays of exactly their sizes.
template <class Token>
struct TestLevel {
  std::vector<uint32_t> pointers;
  std::vector<Token> tokens;
  LevelView view;

  TestLevel(Random& random, int64_t longest) {
    view.codes = static_cast<uint32_t>(random.among({20, 700}));
    view.nodes = static_cast<uint64_t>(1 + random.below(40));
    const int64_t most = std::min<int64_t>(random.among({3, kMostShort, longest}), view.codes);
    for (uint64_t node = 0; node < view.nodes; ++node) {
      pointers.push_back(static_cast<uint32_t>(tokens.size()));
      for (int64_t i = random.below(most + 1); i > 0; --i)
        tokens.push_back(static_cast<Token>(random.below(view.codes)));
    }
    pointers.push_back(static_cast<uint32_t>(tokens.size()));
    if (!tokens.empty() && random.one_in(2))
      tokens[static_cast<size_t>(random.below(std::ssize(tokens)))] = static_cast<Token>(view.codes);
    view.edges = tokens.size();
    view.row_pointers = {pointers.data(), sizeof(uint32_t)};
    view.tokens = {tokens.data(), sizeof(Token)};
  }
  std::vector<uint32_t> codes_of(uint64_t node) const {
    std::vector<uint32_t> codes;
    for (uint32_t edge = pointers[node]; edge < pointers[node + 1]; ++edge) codes.push_back(tokens[edge]);
    return codes;
  }
  bool is_short(uint64_t node) const {
    const std::vector<uint32_t> codes = codes_of(node);
    return codes.size() <= kMostShort && std::count(codes.begin(), codes.end(), view.codes) == 0;
  }
};

template <class Token>
void check_copies(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const TestLevel<Token> level(random, kMostShort + 2);
  std::vector<NodeRow> rows;
  for (uint64_t node = 0; node < level.view.nodes; ++node) rows.push_back(node_row(level.view, node));
  std::vector<ShortList> lists(rows.size());
  std::vector<uint32_t> tokens(rows.size() * kShortStride);
  const auto n = static_cast<int32_t>(rows.size());
  const int32_t copied = kernels.copy_short(level.view, rows.data(), n, tokens.data(), lists.data());
  ASSERT_TRUE(copied == n || !level.is_short(static_cast<uint64_t>(copied))) << "seed " << seed;
  for (int32_t i = 0; i < copied; ++i) {
    const std::vector<uint32_t> expected = level.codes_of(static_cast<uint64_t>(i));
    ASSERT_TRUE(level.is_short(static_cast<uint64_t>(i))) << "seed " << seed;
    ASSERT_EQ(lists[static_cast<size_t>(i)].count, static_cast<int32_t>(expected.size())) << "seed " << seed;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tokens.begin() + i * kShortStride)) << "seed " << seed;
  }
}

TEST(CpuShortLists, CopiesStopAtAListThatIsLongOrHoldsNoCode) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 1000 && !::testing::Test::HasFailure(); ++seed) {
      check_copies<uint16_t>(kernels, seed);
      check_copies<uint32_t>(kernels, seed);
    }
  });
}

// With room for some lists or for all; nothing is written beyond it.
template <class Token>
void check_columns(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const TestLevel<Token> level(random, 400);
  std::vector<int64_t> states, offsets;
  std::vector<int32_t> expected, columns(static_cast<size_t>(random.among({0, 50, 200, 1000, 20000})), -7);
  for (uint64_t node = 0; node < level.view.nodes; ++node) {
    states.push_back(random.one_in(9) ? -1 : static_cast<int64_t>(node));
    offsets.push_back(static_cast<int64_t>(expected.size()));
    for (const uint32_t code : level.codes_of(node))
      if (states.back() >= 0 && code < level.view.codes) expected.push_back(static_cast<int32_t>(code) + 5);
  }
  const int32_t n = static_cast<int32_t>(states.size());
  std::vector<int64_t> found_offsets(states.size());
  int64_t found = 0;
  const int32_t listed = kernels.list_columns(
      level.view, {states.data(), n, 5, found_offsets.data(), columns.data(), std::ssize(columns)}, found);
  const int64_t next = listed == n ? 0 : std::ssize(level.codes_of(static_cast<uint64_t>(listed)));
  ASSERT_TRUE(listed == n || found + next + kShortStride > std::ssize(columns)) << "seed " << seed;
  ASSERT_EQ(found, listed == n ? std::ssize(expected) : offsets[static_cast<size_t>(listed)]) << "seed " << seed;
  for (size_t i = 0; i < static_cast<size_t>(listed); ++i) ASSERT_EQ(found_offsets[i], offsets[i]) << "seed " << seed;
  ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + found, columns.begin())) << "seed " << seed;
}

TEST(CpuShortLists, ColumnsAreListedWhereThereIsRoom) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 1000 && !::testing::Test::HasFailure(); ++seed) {
      check_columns<uint16_t>(kernels, seed);
      check_columns<uint32_t>(kernels, seed);
    }
  });
}

}  // namespace
}  // namespace sidbeam::cpu
