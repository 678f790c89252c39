// Chains against one beam at a time, on every instruction set. SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "cpu_rows.h"
#include "index/read/state.h"

namespace sidbeam::cpu {
namespace {

constexpr uint32_t kCodes = 50;
constexpr int32_t kStride = 61;

// A level in which most nodes have one child, in memory of exactly its size, and beams in it.
struct TestChain {
  std::vector<uint32_t> pointers = {0};
  std::vector<uint16_t> tokens;
  std::vector<int64_t> states;
  std::vector<float> scores, log_masses, data, lse;
  std::vector<int32_t> map;
  std::vector<LogSum> sums;
  Chain chain;

  TestChain(Random& random, int32_t n, int64_t oddity) {
    for (int node = 0; node < 300; ++node) {
      const int64_t children = random.one_in(oddity) ? random.below(3) : 1;
      for (int64_t c = 0; c < children; ++c) tokens.push_back(static_cast<uint16_t>(random.below(kCodes)));
      pointers.push_back(static_cast<uint32_t>(tokens.size()));
    }
    if (random.one_in(oddity)) tokens[static_cast<size_t>(random.below(std::ssize(tokens)))] = kCodes;
    if (random.one_in(oddity))
      pointers[static_cast<size_t>(random.below(301))] = ~0U - static_cast<uint32_t>(random.below(2));
    for (int32_t i = 0; i < n * kStride; ++i) data.push_back(value(random, oddity * 100));
    for (int32_t i = 0; i < n; ++i) {
      states.push_back(state(random, oddity));
      scores.push_back(-static_cast<float>(random.below(100)) / 7.0F);
      log_masses.push_back(random.one_in(oddity * 100) ? -kInfinity : -static_cast<float>(random.below(100)) / 3.0F);
      lse.push_back(value(random, oddity * 10));
      map.push_back(static_cast<int32_t>(random.below(n)));
      sums.push_back({value(random, oddity * 10), value(random, 1 << 30) * 1e-8F});
    }
    chain = {states.data(),
             scores.data(),
             random.one_in(2) ? log_masses.data() : nullptr,
             900,
             pointers.data(),
             tokens.data(),
             300,
             static_cast<uint32_t>(tokens.size()),
             kCodes,
             encode_state({3, false, NodeKind::kTrie, 0}),
             data.data(),
             kStride,
             random.one_in(2) ? map.data() : nullptr,
             random.one_in(4) ? nullptr : lse.data(),
             random.one_in(2) ? nullptr : sums.data()};
  }
  static float value(Random& random, int64_t oddity) {
    if (!random.one_in(oddity)) return static_cast<float>(random.below(1000)) / 77.0F;
    const float odd[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
    return odd[random.below(3)];
  }
  static int64_t state(Random& random, int64_t oddity) {
    const int64_t node = random.one_in(20) ? 0 : random.below(300), level = 2;
    if (!random.one_in(oddity * 10)) return level << kLevelShift | node;
    return random.among({kDeadState, level << kLevelShift | int64_t{1} << kEndedShift | node,
                         level << kLevelShift | 300, level << kLevelShift | int64_t{1} << 33 | node});
  }

  // Whether beam i has one child and plain numbers, and the result.
  bool follow(int32_t i, float& score, uint32_t& place, int64_t& next, float& log_mass) const {
    const auto at = static_cast<size_t>(i);
    const uint64_t node = state_node(states[at]);
    if (!is_live(states[at]) || is_ended(states[at]) || node >= chain.nodes) return false;
    const uint64_t begin = pointers[node], end = pointers[node + 1];
    if (end - begin != 1 || end > tokens.size() || tokens[begin] >= kCodes) return false;
    const int64_t row = chain.map != nullptr ? map[at] : i;
    const float x = data[static_cast<size_t>(row * kStride) + tokens[begin]];
    LogSum normalizer{chain.lse != nullptr ? lse[static_cast<size_t>(row)] : 0.0F, 0.0F};
    if (chain.sums != nullptr) normalizer = sums[at];
    const float above = (x - normalizer.ref) - normalizer.rest;
    const float log_prob = (chain.sums != nullptr && above > 0.0F ? 0.0F : above) + 0.0F;
    score = scores[at] + log_prob;
    log_mass = chain.log_masses != nullptr ? log_masses[at] + log_prob : 0.0F;
    place = place_of(900 + i, tokens[begin]);
    next = chain.next_level | static_cast<int64_t>(begin);
    return x < kInfinity && std::fabs(normalizer.ref) < kInfinity && std::fabs(score) < kInfinity &&
           std::fabs(log_mass) < kInfinity;
  }
};

int32_t follow(const Kernels& kernels, const Chain& chain, int32_t n, const ChainOut& out) {
  std::vector<uint32_t> edges(static_cast<size_t>(n));
  const int32_t found = kernels.find_edges(chain, n, edges.data());
  EXPECT_LE(found, n);
  return kernels.follow_chain(chain, edges.data(), found, out);
}

void check_chain(const Kernels& kernels, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<int32_t>(1 + random.below(128));
  const TestChain test(random, n, random.among({5, 100, 1 << 20}));
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ": n " << n);
  std::vector<float> scores(static_cast<size_t>(n)), log_masses(scores.size());
  std::vector<uint32_t> places(scores.size());
  std::vector<int64_t> next(scores.size());
  const int32_t done = follow(kernels, test.chain, n, {scores.data(), places.data(), next.data(), log_masses.data()});
  int32_t i = 0;
  for (; i < n; ++i) {
    float score, log_mass;
    uint32_t place;
    int64_t state;
    if (!test.follow(i, score, place, state, log_mass)) break;
    if (i >= done) continue;
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(std::bit_cast<uint32_t>(scores[at]), std::bit_cast<uint32_t>(score)) << i;
    EXPECT_EQ(places[at], place) << i;
    EXPECT_EQ(next[at], state) << i;
    EXPECT_EQ(log_masses[at], log_mass) << i;
  }
  EXPECT_LE(done, i);
  const bool is_wide = kernels.name == std::string("avx2") || kernels.name == std::string("avx512");
  if (is_wide && n >= kVectorSlack) {
    EXPECT_GT(done, i == n ? n - 1 : i - kVectorSlack);
  }
}

TEST(CpuChain, FollowsBeamsAsOneByOne) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 2000 && !::testing::Test::HasFailure(); ++seed) check_chain(kernels, seed);
  });
}

// Codes are gathered as words: none may begin before the array.
TEST(CpuChain, ReadsNothingBeforeTheCodes) {
  constexpr size_t kPage = 4096;
  void* pages = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* tokens = reinterpret_cast<uint16_t*>(static_cast<char*>(pages) + kPage);
  Random random(1);
  TestChain test(random, 2 * kVectorSlack, 1 << 20);
  std::copy(test.tokens.begin(), test.tokens.end(), tokens);
  ASSERT_EQ(mprotect(pages, kPage, PROT_NONE), 0);
  test.chain.tokens = tokens;
  test.chain.log_masses = nullptr;
  std::fill(test.states.begin(), test.states.end(), int64_t{2} << kLevelShift);  // node 0, of edge 0
  std::vector<float> scores(test.states.size());
  std::vector<uint32_t> places(scores.size());
  std::vector<int64_t> next(scores.size());
  on_every_target([&](const Kernels& kernels) {
    follow(kernels, test.chain, 2 * kVectorSlack, {scores.data(), places.data(), next.data()});
    if (kernels.name == std::string("avx512")) {
      EXPECT_EQ(places[0], place_of(900, tokens[0]));
    }
  });
  munmap(pages, 2 * kPage);
}

}  // namespace
}  // namespace sidbeam::cpu
