// What draws are made of: random numbers, weights, thresholds and noise, and that every target has the same bits.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "backend/cpu/kernels.h"
#include "backend/draw.h"
#include "backend/noise.h"
#include "backend/truncation.h"
#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

std::vector<float> draw_x(Random& random, int64_t n) {
  Values values = draw_values(random, SIDBEAM_DTYPE_F32);
  std::vector<float> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(values.next());
  for (float& each : x)
    if (!(each < kInfinity)) each = 0.0F;
  x.resize(static_cast<size_t>(n + kVectorSlack), 1e30F);  // what lies beyond must not count
  return x;
}

// Random123's known answers.
TEST(Draw, PhiloxGivesItsPublishedNumbers) {
  const auto expect = [](Philox4 counter, uint64_t key, Philox4 words) {
    const Philox4 out = philox(counter, key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out.word[i], words.word[i]) << i;
  };
  expect({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect({{~0U, ~0U, ~0U, ~0U}}, ~uint64_t{0}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Draw, RandomBitsAreThoseOfTheirCounters) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const auto n = static_cast<int32_t>(1 + random.below(70));
      const int64_t request = -7 * static_cast<int64_t>(seed * seed);
      std::vector<int64_t> draws;
      for (int32_t i = 0; i < n; ++i) draws.push_back((kMostDraws - 1) / (1 + static_cast<int64_t>(random.below(99))));
      std::vector<uint64_t> bits(draws.size());
      kernels.random_bits(seed << 40 | seed, request, draws.data(), kMaxLevels - 1, n, bits.data());
      for (size_t i = 0; i < draws.size(); ++i)
        ASSERT_EQ(bits[i], draw_bits(seed << 40 | seed, request, draws[i], RandomUse::kCode, kMaxLevels - 1)) << i;
    }
  });
}

TEST(Draw, WeightsAreExpToFourTenMillionths) {
  const double one = std::ldexp(1.0, kWeightBits);
  EXPECT_EQ(weight_of(3.5F, 3.5F), uint64_t{1} << kWeightBits);
  EXPECT_EQ(weight_of(-kInfinity, 3.5F), 0U);
  EXPECT_EQ(weight_of(-3e38F, 3e38F), 0U);
  uint64_t before = ~uint64_t{0};
  for (float below = 0.0F; below < 40.0F; below += 0.00037F) {
    const uint64_t weight = weight_of(-below, 0.0F);
    const double exact = one * std::exp(-static_cast<double>(below));
    ASSERT_NEAR(static_cast<double>(weight), exact, 4e-7 * exact + 0.5000001) << below;
    ASSERT_LE(weight, before) << below;
    before = weight;
  }
}

TEST(Draw, LogarithmsAreExactToATrillionth) {
  Random random(3);
  for (int round = 0; round < 200000; ++round) {
    const double x = std::ldexp(1.0 + static_cast<double>(random.below(int64_t{1} << 52)) * 0x1p-52,
                                static_cast<int>(random.below(128)) - 64);
    ASSERT_NEAR(portable_log(x), std::log(x), 1e-12) << x;
  }
}

// The largest x and n others, all at one distance below it, so that the errors of their weights add up.
TEST(Draw, LogarithmsOfWeightsAreThoseOfSumsToAMillionth) {
  Random random(4);
  for (int round = 0; round < 200000; ++round) {
    const uint64_t n = uint64_t{1} << random.below(21);
    const auto largest = static_cast<float>(static_cast<double>(random.below(60000000)) * 1e-6 - 30.0);
    const auto x = largest - static_cast<float>(static_cast<double>(random.below(34000000)) * 1e-6);
    const LogSum log = log_of_weights((uint64_t{1} << kWeightBits) + n * weight_of(x, largest), largest);
    const double top = static_cast<double>(largest);
    const double exact = top + std::log1p(static_cast<double>(n) * std::exp(static_cast<double>(x) - top));
    ASSERT_NEAR(static_cast<double>(log.ref) + static_cast<double>(log.rest), exact, 1e-6)
        << n << " others at " << x << ", the largest at " << largest;
  }
}

// As many as there are codes at most: their sum stays below 2^63, and its logarithm is as good as the weights.
TEST(Draw, WeightsOfAWideLevelFitAndAddUp) {
  constexpr auto kAll = static_cast<uint64_t>(SIDBEAM_MAX_CODES);
  EXPECT_EQ(weight_bits(1 << 20), kWeightBits);
  EXPECT_EQ(weight_bits((1 << 20) + 1), kWideWeightBits);
  const float scale = weight_scale(kWideWeightBits);
  EXPECT_EQ(weight_of(3.5F, 3.5F, scale), uint64_t{1} << kWideWeightBits);
  EXPECT_LT(kAll * weight_of(3.5F, 3.5F, scale), uint64_t{1} << 63);
  Random random(6);
  for (int round = 0; round < 200000; ++round) {
    const uint64_t n = uint64_t{1} << random.below(25);
    const auto x = -static_cast<float>(static_cast<double>(random.below(34000000)) * 1e-6);
    const uint64_t total = (uint64_t{1} << kWideWeightBits) + (n - 1) * weight_of(x, 0.0F, scale);
    const LogSum log = log_of_weights(total, 0.0F, kWideWeightBits);
    const double exact = std::log1p(static_cast<double>(n - 1) * std::exp(static_cast<double>(x)));
    ASSERT_NEAR(static_cast<double>(log.ref) + static_cast<double>(log.rest), exact, 4e-5) << n << " at " << x;
  }
}

// The smallest random number with this threshold.
uint64_t bits_of(uint64_t threshold, uint64_t total) {
  const auto bits = static_cast<uint64_t>(((static_cast<Wide>(threshold) << 64) + total - 1) / total);
  EXPECT_EQ(threshold_of(bits, total), threshold);
  return bits;
}

TEST(Draw, EveryTargetWeighsAlike) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const auto n = static_cast<int64_t>(1 + random.below(random.among({5, 70, 700})));
      const std::vector<float> x = draw_x(random, n);
      const float largest = *std::max_element(x.begin(), x.begin() + n);
      if (largest == -kInfinity) continue;
      std::vector<float> powers(x.size());
      std::vector<uint64_t> cumulative(static_cast<size_t>((n + kDrawBlock - 1) / kDrawBlock));
      const int bits = random.one_in(2) ? kWeightBits : kWideWeightBits;
      const float scale = weight_scale(bits);
      const uint64_t total = kernels.weigh(x.data(), n, largest, bits, powers.data(), cumulative.data());
      uint64_t sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        const uint64_t weight = weight_of(x[at], largest, scale);
        // The weight's own share of all random numbers, from end to end.
        const auto chosen = [&](uint64_t threshold) {
          int32_t child = -1;
          const uint64_t drawn = bits_of(threshold, total);
          kernels.choose(powers.data(), cumulative.data(), n, total, &drawn, 1, &child);
          return child;
        };
        if (weight > 0) {
          ASSERT_EQ(chosen(sum), i);
          ASSERT_EQ(chosen(sum + weight - 1), i);
        }
        sum += weight;
        const bool ends = (i + 1) % kDrawBlock == 0 || i + 1 == n;
        ASSERT_EQ(cumulative[at / kDrawBlock], ends ? sum : cumulative[at / kDrawBlock]) << i;
      }
      EXPECT_EQ(total, sum);
    }
  });
}

// Rows of children that are drawn from together, one of them perhaps without any.
TEST(Draw, RowsTogetherAreDrawnAsEachAlone) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const auto n = static_cast<size_t>(1 + random.below(20));
      std::vector<std::vector<float>> x;
      std::vector<DrawnRow> rows;
      for (size_t r = 0; r < n; ++r) {
        const auto count = static_cast<int32_t>(1 + random.below(random.among({5, 70, 700})));
        x.push_back(draw_x(random, count));
        if (random.one_in(5)) std::fill_n(x.back().begin(), count, -kInfinity);
        rows.push_back({nullptr, count, static_cast<uint64_t>(random.below(int64_t{1} << 62)) << 2});
      }
      std::vector<std::vector<float>> powers = x;
      for (size_t r = 0; r < n; ++r) rows[r].x = powers[r].data();
      std::vector<uint64_t> cumulative(n * 22);
      std::vector<LogSum> logs(n);
      const int bits = random.one_in(2) ? kWeightBits : kWideWeightBits;
      const float scale = weight_scale(bits);
      kernels.draw_rows(rows.data(), static_cast<int32_t>(n), bits, cumulative.data(), logs.data());
      for (size_t r = 0; r < n; ++r) {
        const auto end = x[r].begin() + rows[r].count;
        const float largest = *std::max_element(x[r].begin(), end);
        EXPECT_EQ(rows[r].largest, largest) << r;
        uint64_t total = 0;
        for (auto each = x[r].begin(); largest > -kInfinity && each != end; ++each)
          total += weight_of(*each, largest, scale);
        ASSERT_EQ(rows[r].total, total) << r;
        ASSERT_EQ(rows[r].chosen >= 0, total > 0) << r;
        if (total == 0) continue;
        const LogSum log = log_of_weights(total, largest, bits);
        EXPECT_EQ(logs[r].ref, log.ref) << r;
        EXPECT_EQ(logs[r].rest, log.rest) << r;
        uint64_t sum = 0;
        int32_t chosen = 0;
        for (;; ++chosen)
          if ((sum += weight_of(x[r][static_cast<size_t>(chosen)], largest, scale)) > threshold_of(rows[r].bits, total))
            break;
        EXPECT_EQ(rows[r].chosen, chosen) << r;
      }
    }
  });
}

// The elements and the sum of a random row, whose list sometimes has a code that is not below `codes`.
template <class Element, class Token>
void expect_copied(const Kernels& kernels, int32_t dtype, Random& random) {
  const int64_t columns = 1 + static_cast<int64_t>(random.below(random.among({40, 300, 3000}))), first = columns / 9;
  const auto codes = static_cast<uint32_t>(columns - first);
  std::vector<Element> row(static_cast<size_t>(columns));
  for (Element& each : row) each = static_cast<Element>(random.below(0x3000));  // finite in every type
  std::vector<Token> tokens;
  for (uint32_t code = 0; code < codes; ++code)
    if (random.below(3) != 0) tokens.push_back(static_cast<Token>(code));
  const bool damaged = !tokens.empty() && random.below(4) == 0;
  if (damaged) tokens[static_cast<size_t>(random.below(std::ssize(tokens)))] = static_cast<Token>(codes);
  const auto n = static_cast<int32_t>(tokens.size());
  std::vector<Element> out(tokens.size() + 1, 77);
  RowCopy copy{{tokens.data(), sizeof(Token), n, n}, out.data(), false};
  RowsToSum rows;
  rows.elements = {row.data(), dtype, 1.0F, 0.0F};
  rows.count = 1;
  rows.columns = columns;
  LogSum alone, beside;
  kernels.log_sum_exp(rows, &alone);
  rows.copies = &copy;
  rows.copied_column = first;
  rows.copied_codes = codes;
  kernels.log_sum_exp(rows, &beside);
  EXPECT_EQ(beside.ref, alone.ref);
  EXPECT_EQ(beside.rest, alone.rest);
  ASSERT_EQ(copy.done, n >= kVectorSlack && !damaged) << n;
  for (size_t i = 0; copy.done && i < tokens.size(); ++i)
    ASSERT_EQ(out[i], row[static_cast<size_t>(first) + tokens[i]]) << i << " of " << n;
  EXPECT_EQ(out.back(), 77);
}

TEST(Draw, ElementsOfAListAreCopiedWhileTheirRowIsSummed) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      expect_copied<uint32_t, uint16_t>(kernels, SIDBEAM_DTYPE_F32, random);
      expect_copied<uint32_t, uint32_t>(kernels, SIDBEAM_DTYPE_F32, random);
      expect_copied<uint16_t, uint16_t>(kernels, SIDBEAM_DTYPE_F16, random);
      expect_copied<uint16_t, uint32_t>(kernels, SIDBEAM_DTYPE_BF16, random);
    }
  });
}

TEST(Draw, ThresholdsCountAndWeighWhatReachesThem) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const auto n = static_cast<int64_t>(1 + random.below(random.among({5, 70, 700})));
      const std::vector<float> x = draw_x(random, n);
      const float largest = *std::max_element(x.begin(), x.begin() + n);
      const float threshold = x[static_cast<size_t>(random.below(static_cast<int64_t>(n)))];
      if (threshold == -kInfinity) continue;
      std::vector<uint32_t> expected, found(x.size());
      uint64_t mass = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float each = x[static_cast<size_t>(i)];
        if (!(each >= threshold)) continue;
        expected.push_back(static_cast<uint32_t>(i));
        mass += weight_of(each, largest);
      }
      const Above counted = kernels.above(x.data(), n, threshold, nullptr);
      EXPECT_EQ(counted.count, static_cast<int64_t>(expected.size()));
      EXPECT_EQ(counted.mass, 0U);
      EXPECT_EQ(kernels.above(x.data(), n, threshold, &largest).mass, mass);
      found.resize(static_cast<size_t>(kernels.find_at_least(x.data(), n, threshold, found.data())));
      EXPECT_EQ(found, expected);
    }
  });
}

TEST(Draw, OrdersRiseWithXAndTurnBack) {
  const float rising[] = {-kInfinity, -3e38F, -1.5F, -1e-45F, 0.0F, 1e-45F, 1.5F, 3e38F};
  for (size_t i = 0; i < std::size(rising); ++i) {
    EXPECT_EQ(x_of_order(order_of(rising[i])), rising[i]);
    EXPECT_TRUE(i == 0 || order_of(rising[i - 1]) < order_of(rising[i])) << i;
  }
  EXPECT_EQ(order_of(-0.0F), order_of(0.0F));
}

TEST(Draw, GoalsOfTopPAreExact) {
  EXPECT_EQ(mass_goal(1000, 0.5F), 500U);
  EXPECT_EQ(mass_goal(1001, 0.5F), 501U);
  EXPECT_EQ(mass_goal((uint64_t{1} << 62) + 1, 0.5F), (uint64_t{1} << 61) + 1);
  EXPECT_EQ(mass_goal(uint64_t{1} << 62, 1.0F), uint64_t{1} << 62);
  EXPECT_EQ(mass_goal(7, 1e-45F), 1U);
  EXPECT_EQ(mass_goal(uint64_t{1} << 62, 0x1p-61F), 2U);
}

// The number of a word pair in (0, 1), exactly as long double has it.
long double uniform_of(uint32_t high, uint32_t low) {
  return (static_cast<long double>(high) * 65536 + (low >> 16) + 0.5L) * 0x1p-48L;
}

TEST(Noise, ExponentialsAreRelativelyExactAtBothEnds) {
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    auto high = static_cast<uint32_t>(random.below(int64_t{1} << 32));
    const auto low = static_cast<uint32_t>(random.below(int64_t{1} << 32));
    if (i % 3 == 1) high >>= random.below(32);
    if (i % 3 == 2) high = ~(high >> random.below(32));
    const auto exact = static_cast<double>(-log1pl(-uniform_of(high, low)));
    ASSERT_NEAR(exponential_of(high, low), exact, 4e-7 * exact) << high << " " << low;
  }
  EXPECT_GT(exponential_of(0, 0), 0.0F);
  EXPECT_LT(exponential_of(~0U, ~0U), 40.0F);
}

TEST(Noise, InclusionIsThatOfTheArrivalTimes) {
  for (double above = -60.0; above < 8.0; above += 0.037) {
    const double exact = std::log(-std::expm1(-std::exp(above)));
    ASSERT_NEAR(log_inclusion_of(static_cast<float>(above), 0.0F), exact, 1e-6 * std::max(1.0, std::fabs(exact)));
  }
  EXPECT_EQ(log_inclusion_of(-3.0F, -kInfinity), 0.0F);
}

TEST(Noise, EveryTargetPerturbsAlike) {
  on_every_target([](const Kernels& kernels) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const auto n = static_cast<int32_t>(1 + random.below(random.among({5, 70, 700})));
      std::vector<float> x = draw_x(random, n);
      std::vector<uint32_t> tokens(x.size());
      for (uint32_t& token : tokens) token = static_cast<uint32_t>(random.below(1 << 20));
      const float largest = *std::max_element(x.begin(), x.begin() + n);
      if (largest == -kInfinity) continue;  // a row without candidates is not perturbed
      const RowScore row{-3.25F, {seed % 5 == 0 ? 0.0F : largest + 1.0F, 0.25F}, seed % 2 == 0, 0};
      const NodeNoise node{seed * 0x9E3779B97F4A7C15, ~seed << 20, static_cast<int32_t>(seed % 64), 1e-7F * 3.0F,
                           seed % 7 == 0 ? 0.0F : 1.0F};
      std::vector<float> expected, exponentials(x.size());
      float earliest = kInfinity;
      const auto noise = [&](size_t i) {
        return child_noise(exponential_noise(node.seed, node.hash, tokens[i], node.level), log_prob_of(row, x[i]));
      };
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) earliest = std::min(earliest, noise(i).time);
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        const float score = row.score + log_prob_of(row, x[i]);
        expected.push_back(perturbed_of(score, arrival_of(noise(i), node.arrival, earliest), node.scale));
      }
      EXPECT_EQ(kernels.perturb(row, node, tokens.data(), n, x.data(), exponentials.data()), earliest);
      x.resize(expected.size());
      EXPECT_EQ(x, expected);
      EXPECT_EQ(std::count_if(x.begin(), x.end(), [](float g) { return std::isnan(g); }), 0);
    }
  });
}

// The arrivals of a node's children, given its own: the first of them is the node's, whatever its size, and the others
// are later.
TEST(Noise, TheFirstChildArrivesWithItsParent) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const float parent = std::ldexp(1.0F, -static_cast<int>(random.below(60)));
    std::vector<ChildNoise> children;
    float earliest = kInfinity;
    for (uint32_t code = 0; code < 10; ++code) {
      children.push_back(child_noise(exponential_noise(5, static_cast<uint64_t>(i), code, 0), std::log(0.1F)));
      earliest = std::min(earliest, children.back().time);
    }
    int first = 0;
    for (const ChildNoise& child : children) {
      const float arrival = arrival_of(child, parent, earliest);
      first += arrival == child.probability * parent ? 1 : 0;
      ASSERT_GE(arrival, child.probability * parent);
    }
    ASSERT_GE(first, 1);
  }
}

}  // namespace
}  // namespace sidbeam::cpu
