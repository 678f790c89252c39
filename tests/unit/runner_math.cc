// The runner's products and packed weights: bit for bit what product.h defines, whatever computes them.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runner/math/product.h"
#include "runner_math.h"
#include "support/half.h"

namespace sidbeam::runner {
namespace {

constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF16, Dtype::kBf16, Dtype::kI8};

Matrix pack(const Floats2d& weights, Dtype dtype) {
  return pack_matrix(default_allocator(), {weights.all().data, Dtype::kF32, weights.count(), weights.columns()}, dtype);
}

// What a matrix holds, as f32: products with rows of one 1 and else zeros. Scales come separately.
float held(const Matrix& matrix, int64_t output, int64_t input) {
  Floats2d one(1, matrix.inputs), y(1, matrix.outputs);
  for (int64_t i = 0; i < matrix.inputs; ++i) one.at(0, i) = i == input ? 1.0F : 0.0F;
  multiply({CpuTarget::kBaseline, nullptr}, one.all(), matrix, y.rows());
  return y.at(0, output);
}

// The definition: blocks of kBlock inputs, a chain of fused multiply-adds in each. `elements` without the scales.
float define(const float* x, const float* elements, int64_t inputs, const float* scale, const float* start) {
  float result = start == nullptr ? 0.0F : *start;
  for (int64_t first = 0; first < inputs; first += kBlock) {
    float sum = 0.0F;
    for (int64_t i = first; i < std::min(first + kBlock, inputs); ++i) sum = std::fma(x[i], elements[i], sum);
    result = scale != nullptr ? std::fma(sum, *scale, result) : first == 0 && start == nullptr ? sum : result + sum;
  }
  return result;
}

// The elements that a matrix of this dtype holds for these weights, and its scales.
struct Held {
  Floats2d elements;
  std::vector<float> scales;
};
Held hold(const Floats2d& weights, Dtype dtype) {
  Held as{weights, {}};
  const Table table =
      copy_table(default_allocator(), {weights.all().data, Dtype::kF32, weights.count(), weights.columns()},
                 dtype == Dtype::kI8 ? Dtype::kF32 : dtype);
  const Tensor tensor{table.elements.data(), table.dtype, table.rows, table.columns};
  widen(tensor, 0, table.rows * table.columns, as.elements.data());
  if (dtype != Dtype::kI8) return as;
  for (int64_t o = 0; o < weights.count(); ++o) {
    float largest = 0.0F;
    for (int64_t i = 0; i < weights.columns(); ++i) largest = std::max(largest, std::abs(weights.at(o, i)));
    as.scales.push_back(largest / 127.0F);
    for (int64_t i = 0; i < weights.columns(); ++i)
      as.elements.at(o, i) = largest > 0.0F ? std::nearbyint(weights.at(o, i) / as.scales.back()) : 0.0F;
  }
  return as;
}

void check_definition(const Workers& workers, uint64_t seed, int64_t rows, int64_t inputs, int64_t outputs, Dtype dtype,
                      Start start) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << rows << " x " << inputs << " x " << outputs
                                    << ", dtype " << static_cast<int>(dtype) << ", start " << static_cast<int>(start));
  std::mt19937_64 random(seed);
  const Floats2d x = Floats2d::drawn(random, rows, inputs, 3), weights = Floats2d::drawn(random, outputs, inputs);
  const Floats2d bias = Floats2d::drawn(random, 1, outputs);
  Floats2d y = Floats2d::drawn(random, rows, outputs, 5), expected = y;
  const Held as = hold(weights, dtype);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < outputs; ++o) {
      const float residual = y.at(r, o), its_bias = bias.at(0, o);
      const float* const from = start == Start::kZero ? nullptr : start == Start::kY ? &residual : &its_bias;
      const float* const scale = dtype == Dtype::kI8 ? &as.scales[static_cast<size_t>(o)] : nullptr;
      expected.at(r, o) = define(x.all()[r], as.elements.all()[o], inputs, scale, from);
    }
  }
  multiply(workers, x.all(), pack(weights, dtype), y.rows(), start, bias.all().data);
  EXPECT_TRUE(y == expected);
}

TEST(RunnerProduct, IsBitForBitWhatItsDefinitionSays) {
  on_all_workers([](const Workers& workers) {
    uint64_t seed = 0;
    for (const Dtype dtype : kDtypes) {
      for (const int64_t inputs : {1, 5, 255, 256, 257, 520}) {
        for (const int64_t outputs : {1, 32, 75}) {
          for (const int64_t rows : {1, 2, 14}) {
            if (++seed % 2 == 0 && SIDBEAM_SANITIZED) continue;
            check_definition(workers, seed, rows, inputs, outputs, dtype, static_cast<Start>(seed % 3));
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST(RunnerProduct, ARowIsTheSameAmongAnyNumberOfRows) {
  constexpr int64_t kMost = 401;
  std::mt19937_64 random(7);
  const Floats2d x = Floats2d::drawn(random, kMost, 70), weights = Floats2d::drawn(random, 40, 70);
  for (const Dtype dtype : {Dtype::kF32, Dtype::kI8}) {
    const Matrix matrix = pack(weights, dtype);
    Floats2d expected(kMost, 40);
    multiply({CpuTarget::kBaseline, nullptr}, x.all(), matrix, expected.rows());
    on_all_workers([&](const Workers& workers) {
      const bool slow = workers.target == CpuTarget::kBaseline;
      for (int64_t rows = 1; rows <= kMost; rows += slow && rows > 30 ? 53 : 1) {
        Floats2d y(kMost, 40);
        multiply(workers, x.first(rows), matrix, y.rows().rows(0, rows));
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), static_cast<size_t>(rows * 40) * sizeof(float)), 0) << rows;
        ASSERT_TRUE(rows == kMost || y.at(rows, 0) == Floats2d::kUntouched) << rows;
      }
    });
  }
}

TEST(RunnerProduct, IsTheSameOnThreadsThatShareItByRowsOrByPanels) {
  std::mt19937_64 random(8);
  const Floats2d x = Floats2d::drawn(random, 400, 300), weights = Floats2d::drawn(random, 150, 300);
  const Matrix matrix = pack(weights, Dtype::kBf16);
  SpinPool pool(3);
  for (const int64_t rows : {90, 400}) {
    Floats2d alone(rows, 150), shared(rows, 150);
    multiply({best_cpu_target(), nullptr}, x.first(rows), matrix, alone.rows());
    multiply({best_cpu_target(), &pool}, x.first(rows), matrix, shared.rows());
    EXPECT_TRUE(alone == shared) << rows;
  }
}

TEST(RunnerProduct, IsNearFloat64) {
  std::mt19937_64 random(9);
  const Floats2d x = Floats2d::drawn(random, 7, 3000), weights = Floats2d::drawn(random, 40, 3000);
  Floats2d y(7, 40);
  multiply({best_cpu_target(), nullptr}, x.all(), pack(weights, Dtype::kF32), y.rows());
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t o = 0; o < 40; ++o) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < 3000; ++i) {
        const double product = static_cast<double>(x.at(r, i)) * static_cast<double>(weights.at(o, i));
        sum += product, size += std::abs(product);
      }
      EXPECT_NEAR(static_cast<double>(y.at(r, o)), sum, size * 1e-7);
    }
  }
}

TEST(RunnerProduct, Int8IsWithinHalfAStepPerWeight) {
  std::mt19937_64 random(10);
  Floats2d weights = Floats2d::drawn(random, 3, 200);
  for (int64_t i = 0; i < 200; ++i) weights.at(1, i) = 0.0F;  // no largest magnitude to divide by
  const Matrix matrix = pack(weights, Dtype::kI8);
  EXPECT_EQ(matrix.elements.bytes(), 32 * 200);
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t i = 0; i < 200; ++i)
      ASSERT_NEAR(held(matrix, o, i), weights.at(o, i), matrix.scales[o] * 0.5001F) << o << " " << i;
}

TEST(RunnerMatrix, HoldsChosenRowsAndTensorsBelowOneAnother) {
  std::mt19937_64 random(11);
  const Floats2d a = Floats2d::drawn(random, 5, 9), b = Floats2d::drawn(random, 40, 9);
  const Tensor tensors[] = {{a.all().data, Dtype::kF32, 5, 9}, {b.all().data, Dtype::kF32, 40, 9}};
  const Matrix both = pack_matrix(default_allocator(), tensors, Dtype::kF32);
  ASSERT_EQ(both.outputs, 45);
  const int32_t rows[] = {39, -1, 0};
  const Matrix chosen = pack_matrix(default_allocator(), tensors[1], Dtype::kF32, rows);
  ASSERT_EQ(chosen.outputs, 3);
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(held(both, 4, i), a.at(4, i));
    EXPECT_EQ(held(both, 5, i), b.at(0, i));
    EXPECT_EQ(held(both, 44, i), b.at(39, i));
    EXPECT_EQ(held(chosen, 0, i), b.at(39, i));
    EXPECT_EQ(held(chosen, 1, i), 0.0F);
    EXPECT_EQ(held(chosen, 2, i), b.at(0, i));
  }
}

// The f16 or bf16 nearest a float, even among equals, by search.
void check_nearest(Dtype dtype, float value) {
  const Table table = copy_table(default_allocator(), {&value, Dtype::kF32, 1, 1}, dtype);
  uint16_t bits;
  std::memcpy(&bits, table.elements.data(), sizeof bits);
  const auto value_of = [&](uint16_t its) {
    return static_cast<double>(dtype == Dtype::kF16 ? float_of(F16{its}) : float_of(Bf16{its}));
  };
  const auto exact = static_cast<double>(value);
  const double error = std::abs(value_of(bits) - exact);
  for (const int step : {-1, 1}) {
    if ((bits & 0x7FFF) == 0 && step < 0) continue;
    const auto neighbour = static_cast<uint16_t>(bits + step);
    const double its = std::abs(value_of(neighbour) - exact);
    const bool nearest = error < its || (error == its && bits % 2 == 0) || !std::isfinite(its);
    ASSERT_TRUE(nearest) << value << " as " << bits;
  }
}

TEST(RunnerMatrix, RoundsToTheNearest16BitFloat) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<float> exponent(-30.0F, 15.9F), mantissa(-1.0F, 1.0F);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::exp2(exponent(random)) * mantissa(random);
    check_nearest(Dtype::kF16, value);
    check_nearest(Dtype::kBf16, value);
    // A value halfway between two of f16.
    check_nearest(Dtype::kF16,
                  std::ldexp(static_cast<float>(2 * (random() % 1024) + 2049), static_cast<int>(random() % 24) - 20));
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (const float value : {65519.9F, 0.0F, -0.0F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F}) check_nearest(Dtype::kF16, value);
}

TEST(RunnerMatrix, KeepsInfinitiesAndNans) {
  const float values[] = {65520.0F, -INFINITY, NAN};
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    const Table table = copy_table(default_allocator(), {values, Dtype::kF32, 1, 3}, dtype);
    float back[3];
    widen({table.elements.data(), dtype, 1, 3}, 0, 3, back);
    EXPECT_EQ(back[0], dtype == Dtype::kF16 ? INFINITY : 65536.0F);
    EXPECT_EQ(back[1], -INFINITY);
    EXPECT_TRUE(std::isnan(back[2]));
  }
}

TEST(RunnerMatrix, TensorsMayStandAtOddAddresses) {
  const float values[] = {1.0F, 2.0F, 3.0F};
  std::vector<char> bytes(sizeof values + 1);
  std::memcpy(bytes.data() + 1, values, sizeof values);
  const Matrix matrix = pack_matrix(default_allocator(), {bytes.data() + 1, Dtype::kF32, 1, 3}, Dtype::kF16);
  EXPECT_EQ(held(matrix, 0, 2), 3.0F);
}

}  // namespace
}  // namespace sidbeam::runner
