// The runner's norms, activations, rotations and embeddings: near float64, and the same bits whatever computes them.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>

#include "runner/math/rows.h"
#include "runner_math.h"

namespace sidbeam::runner {
namespace {

constexpr Activation kActivations[] = {Activation::kRelu, Activation::kGelu,      Activation::kGeluTanh,
                                       Activation::kSilu, Activation::kQuickGelu, Activation::kMish,
                                       Activation::kTanh};
const Workers kPlain{CpuTarget::kBaseline, nullptr};

double exactly(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kQuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::kTanh:
      return std::tanh(x);
  }
  return 0.0;
}

// A function of rows gives on all workers, and for one row alone, what it gives on the baseline.
void check_bits(const char* what, int64_t rows, int64_t columns,
                const std::function<void(const Workers&, int64_t from, int64_t to, Rows out)>& function) {
  Floats2d expected(rows, columns, 3);
  function(kPlain, 0, rows, expected.rows());
  on_all_workers([&](const Workers& workers) {
    Floats2d all(rows, columns, 3), alone(rows, columns, 3);
    function(workers, 0, rows, all.rows());
    EXPECT_TRUE(all == expected) << what;
    for (int64_t r = 0; r < rows; ++r) function(workers, r, r + 1, alone.rows().rows(r, r + 1));
    EXPECT_TRUE(alone == expected) << what;
  });
}

TEST(RunnerRows, HaveTheSameBitsWhateverComputesThem) {
  std::mt19937_64 random(1);
  for (const int64_t columns : {2, 30, 32, 50, 1056}) {
    SCOPED_TRACE(columns);
    constexpr int64_t kRows = 37;
    const Floats2d x = Floats2d::drawn(random, kRows, 2 * columns, 1, 3.0F), gain = Floats2d::drawn(random, 1, columns);
    const auto half = [&](int64_t from, int64_t to) { return x.all().rows(from, to).slice(0, columns); };
    const auto copy = [&](int64_t from, int64_t to, Rows out) {
      for (int64_t r = from; r < to; ++r) std::copy_n(half(0, kRows)[r], columns, out[r - from]);
    };
    for (const int64_t heads : {1, 2})
      check_bits("rms_norm", kRows, columns, [&](const Workers& workers, int64_t from, int64_t to, Rows out) {
        rms_norm(workers, half(from, to), gain.all().data, 1e-6F, out, heads);
      });
    for (const Activation activation : kActivations) {
      check_bits("activate", kRows, columns, [&](const Workers& workers, int64_t from, int64_t to, Rows out) {
        copy(from, to, out);
        activate(workers, activation, out);
      });
      check_bits("activate_gated", kRows, columns, [&](const Workers& workers, int64_t from, int64_t to, Rows out) {
        activate_gated(workers, activation, x.all().rows(from, to), out);
      });
    }
    check_bits("add, scale", kRows, columns, [&](const Workers& workers, int64_t from, int64_t to, Rows out) {
      copy(from, to, out);
      add(workers, x.all().rows(from, to).slice(columns, columns), out);
      scale(workers, 0.3F, out);
    });
    std::vector<float> frequencies(static_cast<size_t>(columns) / 2);
    rope_frequencies(10000.0, columns, frequencies.data());
    const RopeTable table = make_rope_table(default_allocator(), kRows, frequencies);
    std::vector<int32_t> positions(kRows);
    for (int32_t& position : positions) position = static_cast<int32_t>(random() % kRows);
    check_bits("rotate", kRows, columns, [&](const Workers& workers, int64_t from, int64_t to, Rows out) {
      copy(from, to, out);
      rotate(workers, table, positions.data() + from, out);
    });
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      const Table embedding = copy_table(default_allocator(), {x.all().data, Dtype::kF32, 20, columns}, dtype);
      std::vector<int32_t> tokens(kRows * 3);
      for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 21) - 1;
      check_bits("embed", kRows, columns, [&](const Workers& workers, int64_t from, int64_t, Rows out) {
        embed(workers, embedding, tokens.data() + from * 3, 3, out);
      });
    }
  }
}

TEST(RunnerRows, RmsNormDividesEachHeadByItsRootMeanSquare) {
  std::mt19937_64 random(2);
  for (const int64_t columns : {1, 3, 16, 100, 4096}) {
    for (const int64_t heads : {1, 4}) {
      const Floats2d x = Floats2d::drawn(random, 3, columns * heads, 2, 0.02F),
                     gain = Floats2d::drawn(random, 1, columns);
      Floats2d out(3, columns * heads);
      rms_norm({best_cpu_target(), nullptr}, x.all(), gain.all().data, 1e-5F, out.rows(), heads);
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t head = 0; head < heads; ++head) {
          double squares = 0;
          for (int64_t c = 0; c < columns; ++c)
            squares += std::pow(static_cast<double>(x.at(r, head * columns + c)), 2);
          const double root = std::sqrt(squares / static_cast<double>(columns) + 1e-5);
          for (int64_t c = 0; c < columns; ++c) {
            const double expected =
                static_cast<double>(x.at(r, head * columns + c)) / root * static_cast<double>(gain.at(0, c));
            ASSERT_NEAR(static_cast<double>(out.at(r, head * columns + c)), expected, 1e-6 * std::abs(expected));
          }
        }
      }
    }
  }
}

TEST(RunnerRows, ActivationsAreNearFloat64) {
  constexpr int64_t kValues = 200001;
  Floats2d x(1, kValues);
  for (int64_t i = 0; i < kValues; ++i) x.at(0, i) = static_cast<float>(i - kValues / 2) * 2e-4F;  // -20 .. 20
  for (const Activation activation : kActivations) {
    Floats2d y = x;
    activate({best_cpu_target(), nullptr}, activation, y.rows());
    for (int64_t i = 0; i < kValues; ++i) {
      const auto at = static_cast<double>(x.at(0, i));
      ASSERT_NEAR(static_cast<double>(y.at(0, i)), exactly(activation, at), 4e-7 * std::max(1.0, std::abs(at)))
          << "activation " << static_cast<int>(activation) << " at " << at;
    }
  }
}

TEST(RunnerRows, ActivationsGoToTheirLimitsAndKeepNan) {
  on_all_workers([](const Workers& workers) {
    for (const Activation activation : kActivations) {
      Floats2d x(1, 3);
      x.at(0, 0) = 1e4F, x.at(0, 1) = -1e4F, x.at(0, 2) = NAN;
      activate(workers, activation, x.rows());
      const bool bounded = activation == Activation::kTanh;
      EXPECT_EQ(x.at(0, 0), bounded ? 1.0F : 1e4F);
      EXPECT_NEAR(x.at(0, 1), bounded ? -1.0F : 0.0F, 1e-30F);
      EXPECT_TRUE(std::isnan(x.at(0, 2)));
    }
  });
}

TEST(RunnerRows, GatedMultipliesTheActivatedFirstHalfByTheSecondEvenInPlace) {
  std::mt19937_64 random(3);
  Floats2d x = Floats2d::drawn(random, 4, 74), gate(4, 37);
  for (int64_t r = 0; r < 4; ++r) std::copy_n(x.all()[r], 37, gate.rows()[r]);
  const Floats2d before = x;
  activate({best_cpu_target(), nullptr}, Activation::kSilu, gate.rows());
  activate_gated({best_cpu_target(), nullptr}, Activation::kSilu, x.all(), x.rows().slice(0, 37));
  for (int64_t r = 0; r < 4; ++r)
    for (int64_t c = 0; c < 37; ++c) ASSERT_EQ(x.at(r, c), gate.at(r, c) * before.at(r, 37 + c));
}

TEST(RunnerRows, LogSumExpAndSoftCapAreNearFloat64AndTheSameOnEveryTarget) {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal(0.0F, 8.0F);
  for (const int64_t n : {1, 7, 16, 33, 1024, 1041, 5000}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& element : x) element = random() % 5 == 0 ? -HUGE_VALF : normal(random);
    x[static_cast<size_t>(n / 2)] = 3.0F;
    double sum = 0.0;
    for (const float element : x) sum += std::exp(0.5 * static_cast<double>(element));
    std::vector<float> capped = x;
    soft_cap(kPlain, 5.0F, {capped.data(), 1, n});
    for (size_t i = 0; i < x.size(); ++i) {
      const auto wanted = std::isfinite(x[i]) ? 5.0 * std::tanh(static_cast<double>(x[i]) / 5.0) : -HUGE_VAL;
      EXPECT_TRUE(wanted == static_cast<double>(capped[i]) ||
                  std::fabs(wanted - static_cast<double>(capped[i])) < 3e-6);
    }
    const double plain = log_sum_exp(CpuTarget::kBaseline, 0.5F, x.data(), n);
    EXPECT_NEAR(plain, std::log(sum), 1e-6) << n << " elements";
    on_all_workers([&](const Workers& workers) {
      EXPECT_EQ(log_sum_exp(workers.target, 0.5F, x.data(), n), plain);
      std::vector<float> again = x;
      soft_cap(workers, 5.0F, {again.data(), 1, n});
      EXPECT_EQ(std::memcmp(again.data(), capped.data(), again.size() * sizeof(float)), 0);
    });
    for (const float bad : {std::nanf(""), HUGE_VALF}) {
      std::vector<float> broken = x;
      broken.back() = bad;
      EXPECT_TRUE(std::isnan(log_sum_exp(kPlain.target, 0.5F, broken.data(), n)));
    }
    std::fill(x.begin(), x.end(), -HUGE_VALF);
    EXPECT_EQ(log_sum_exp(kPlain.target, 0.5F, x.data(), n), -HUGE_VAL);
  }
}

TEST(RunnerRope, FrequenciesAndTablesAreThoseOfTheMathematics) {
  float frequencies[64];
  for (const double theta : {1e4, 5e5, 1e6}) {
    rope_frequencies(theta, 128, frequencies);
    for (int i = 0; i < 64; ++i) {
      const double expected = std::pow(theta, -2.0 * i / 128);
      EXPECT_NEAR(static_cast<double>(frequencies[i]), expected, 2e-7 * expected) << theta << " " << i;
    }
  }
  const RopeTable table = make_rope_table(default_allocator(), 40000, std::span<const float>(frequencies, 64), 0.5F);
  for (int64_t position = 0; position < 40000; position += 37) {
    for (int64_t i = 0; i < 64; ++i) {
      const auto angle = static_cast<double>(static_cast<float>(position) * frequencies[i]);
      ASSERT_EQ(table.cosines[position * 64 + i], static_cast<float>(std::cos(angle)) * 0.5F) << position << " " << i;
      ASSERT_EQ(table.sines[position * 64 + i], static_cast<float>(std::sin(angle)) * 0.5F) << position << " " << i;
    }
  }
}

TEST(RunnerRope, TurnsDimensionIOfEveryHeadWithDimensionIPlusHalf) {
  std::mt19937_64 random(4);
  const float frequencies[] = {1.0F, 0.5F, 0.25F};
  const RopeTable table = make_rope_table(default_allocator(), 10, frequencies);
  const Floats2d before = Floats2d::drawn(random, 2, 12);
  Floats2d x = before;
  const int32_t positions[] = {9, 2};
  rotate({best_cpu_target(), nullptr}, table, positions, x.rows());
  for (int64_t r = 0; r < 2; ++r) {
    for (const int64_t head : {0, 6}) {
      for (int64_t i = 0; i < 3; ++i) {
        const double angle = positions[r] * static_cast<double>(frequencies[i]);
        const auto a = static_cast<double>(before.at(r, head + i)), b = static_cast<double>(before.at(r, head + 3 + i));
        EXPECT_NEAR(static_cast<double>(x.at(r, head + i)), a * std::cos(angle) - b * std::sin(angle), 1e-6);
        EXPECT_NEAR(static_cast<double>(x.at(r, head + 3 + i)), b * std::cos(angle) + a * std::sin(angle), 1e-6);
      }
    }
  }
}

TEST(RunnerEmbedding, SumsTheRowsOfAGroupInOrderWithoutThoseThatAreMissing) {
  const float rows[] = {1.0F, 2.0F, 1e8F, 3.0F, -1e8F, 4.0F};
  const Table table = copy_table(default_allocator(), {rows, Dtype::kF32, 3, 2}, Dtype::kF32);
  const int32_t tokens[] = {0, 1, 2, -1, 2, 0, -1, -1, -1};
  Floats2d out(3, 2);
  embed({best_cpu_target(), nullptr}, table, tokens, 3, out.rows());
  EXPECT_EQ(out.at(0, 0), 0.0F);  // (1 + 1e8) - 1e8 in f32
  EXPECT_EQ(out.at(0, 1), 9.0F);
  EXPECT_EQ(out.at(1, 0), -1e8F + 1.0F);
  EXPECT_EQ(out.at(1, 1), 6.0F);
  EXPECT_EQ(out.at(2, 0), 0.0F);
  EXPECT_EQ(out.at(2, 1), 0.0F);
}

}  // namespace
}  // namespace sidbeam::runner
