// Products of beams and children: chunks of columns and columns in place, on every instruction set and number of
// threads, against the law of sidbeam/hidden.h written out and against double. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "runner/hidden/pairs.h"
#include "support/half.h"

namespace sidbeam::runner {
namespace {

// Runs tasks on threads of its own.
class Threads final : public Executor {
 public:
  explicit Threads(int32_t count) : count_(count) {}
  int32_t width() const override { return count_; }
  void run(int32_t count, void (*task)(void* data, int32_t i), void* data) override {
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < count; ++i) threads.emplace_back(task, data, i);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int32_t count_;
};

struct Shape {
  int64_t columns, width, rows, children;
  bool chunked;  // as the sorter is expected to choose where the rows do not fit the cache
};

// Everything of a list of products; the children of a row lie anywhere, and come in rising order.
struct Products {
  Shape shape;
  Dtype dtype;
  std::vector<float> weights, bias, hidden;
  std::vector<uint16_t> halves;
  std::vector<const float*> rows;
  std::vector<std::vector<int32_t>> children;

  Products(const Shape& of, Dtype type, uint64_t seed) : shape(of), dtype(type) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> real(-1.0F, 1.0F);
    for (int64_t i = 0; i < of.columns * of.width; ++i) {
      const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(real(random)) >> 16);
      halves.push_back(type == Dtype::kF16 ? static_cast<uint16_t>(random() % 0x3C00 | (random() & 0x8000)) : half);
      weights.push_back(type == Dtype::kF16 ? float_of(std::bit_cast<F16>(halves.back()))
                                            : float_of(std::bit_cast<Bf16>(half)));
      if (type == Dtype::kF32) weights.back() = real(random);
    }
    for (int64_t c = 0; seed % 2 == 0 && c < of.columns; ++c) bias.push_back(real(random));
    for (int64_t i = 0; i < of.rows * of.width; ++i) hidden.push_back(real(random));
    for (int64_t r = 0; r < of.rows; ++r) {
      rows.push_back(hidden.data() + r * of.width);
      std::vector<int32_t> listed;
      const auto step = static_cast<uint64_t>(of.columns / of.children);
      for (uint64_t c = 0; c < static_cast<uint64_t>(of.children); ++c)
        listed.push_back(static_cast<int32_t>(c * step + random() % step));
      children.push_back(listed);
    }
  }

  OutputLayer layer() const {
    OutputLayer made;
    made.weights = dtype == Dtype::kF32 ? reinterpret_cast<const std::byte*>(weights.data())
                                        : reinterpret_cast<const std::byte*>(halves.data());
    made.dtype = dtype, made.columns = shape.columns, made.width = shape.width;
    made.row_bytes = shape.width * dtype_bytes(dtype);
    made.bias = bias.empty() ? nullptr : bias.data();
    return made;
  }
  float bias_of(int32_t column) const { return bias.empty() ? 0.0F : bias[static_cast<size_t>(column)]; }
  const float* weights_of(int32_t column) const { return weights.data() + column * shape.width; }
};

// The law: lanes are chains, folded in halves, block by block.
float by_law(const Products& products, const float* x, int32_t column) {
  const float* w = products.weights_of(column);
  float sum = products.bias_of(column);
  for (int64_t first = 0; first < products.shape.width; first += 1024) {
    float lanes[16] = {};
    for (int64_t i = first; i < std::min<int64_t>(first + 1024, products.shape.width); ++i)
      lanes[i % 16] = std::fma(x[i], w[i], lanes[i % 16]);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    sum += lanes[0];
  }
  return sum;
}

double in_double(const Products& products, const float* x, int32_t column) {
  double sum = static_cast<double>(products.bias_of(column));
  for (int64_t i = 0; i < products.shape.width; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(products.weights_of(column)[i]);
  return sum;
}

// The values of all rows' children, row by row.
std::vector<float> multiply(const Products& products, const Workers& workers, int64_t near_inputs, bool& chunked) {
  const int64_t count = products.shape.rows * products.shape.children;
  PairSorter sorter(default_allocator(), {products.shape.columns, products.shape.rows, count, products.shape.width,
                                          workers.width(), near_inputs, kChunkWeights});
  std::vector<float> values(static_cast<size_t>(count), NAN);
  for (int round = 0; round < 2; ++round) {  // the second one finds the memory used
    sorter.begin();
    for (const auto& listed : products.children) sorter.count(listed.data(), products.shape.children);
    sorter.place(products.shape.rows);
    for (int64_t r = 0; r < products.shape.rows; ++r)
      sorter.add(static_cast<int32_t>(r), products.children[static_cast<size_t>(r)].data(), products.shape.children,
                 r * products.shape.children);
    PairList list = sorter.list();
    EXPECT_EQ(list.count(), count);
    list.rows = products.rows.data(), list.values = values.data();
    chunked = list.chunk_shift > 0;
    multiply_pairs(workers, products.layer(), list);
  }
  return values;
}

// What multiply() must give, to the bit.
std::vector<float> expected_of(const Products& products) {
  std::vector<float> values;
  for (size_t r = 0; r < products.rows.size(); ++r) {
    for (const int32_t column : products.children[r]) {
      values.push_back(by_law(products, products.rows[r], column));
      EXPECT_NEAR(static_cast<double>(values.back()), in_double(products, products.rows[r], column),
                  1e-4 * std::sqrt(static_cast<double>(products.shape.width)));
    }
  }
  return values;
}

void check(const Products& products, const std::vector<float>& expected, const Workers& workers, int64_t near_inputs,
           bool expect_chunks) {
  SCOPED_TRACE(::testing::Message() << products.shape.columns << " columns of " << products.shape.width << ", "
                                    << products.shape.rows << " rows, " << cpu_target_name(workers.target) << ", "
                                    << workers.width() << " threads, dtype " << static_cast<int>(products.dtype));
  bool chunked = false;
  const std::vector<float> values = multiply(products, workers, near_inputs, chunked);
  EXPECT_TRUE(workers.width() > 1 || chunked == expect_chunks);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[i])) << "product " << i;
}

TEST(PairProducts, FollowTheLawOnEveryPath) {
  const Shape shapes[] = {{40, 1, 9, 8, true},         {64, 15, 30, 5, true},    {300, 16, 40, 7, true},
                          {2048, 256, 40, 8, true},    {700, 1000, 60, 8, true}, {40, 1025, 17, 4, true},
                          {9, 2500, 3, 3, true},       {3, 37, 700, 1, false},   {500, 1030, 500, 1, false},
                          {3000, 1024, 400, 2, false}, {8, 100, 2500, 8, true},  {1, 64, 1, 1, false},
                          {4096, 48, 1, 1, false}};
  uint64_t seed = 0;
  for (const Shape& shape : shapes) {
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      if (++seed % 2 == 0 && SIDBEAM_SANITIZED) continue;
      const Products products(shape, dtype, seed);
      const std::vector<float> expected = expected_of(products);
      for (const CpuTarget target : kCpuTargets) {
        if (!has_cpu_target(target)) continue;
        Threads three(3);
        check(products, expected, {target, nullptr}, 0, shape.chunked);
        check(products, expected, {target, &three}, 0, shape.chunked);
        check(products, expected, {target, nullptr}, INT64_MAX, false);
      }
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sidbeam::runner
