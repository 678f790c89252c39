// Sums of exponentials against long double: single terms, rows that lose most, rows of every reach.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "backend/partial_sum.h"
#include "cpu_rows.h"

namespace sidbeam::cpu {
namespace {

constexpr long double kLongLn2 = 0.693147180559945309417232121458L;

// Relative error of the sum, to first order.
double error_of(const PartialSum& sum, const std::vector<float>& row) {
  const long double largest = *std::max_element(row.begin(), row.end());
  long double expected = 0;
  for (const float x : row) expected += std::exp(static_cast<long double>(x) - largest);
  const long double came = (sum.base - largest) + sum.exponent * kLongLn2 + std::log(static_cast<long double>(sum.sum));
  return static_cast<double>(came - std::log(expected));
}

double error_of(const Kernels& kernels, const std::vector<float>& row) {
  const auto n = static_cast<int64_t>(row.size());
  PartialSum sum;
  kernels.sum_exp({row.data(), SIDBEAM_DTYPE_F32, 1.0F, 0.0F}, n, nullptr, sum);
  return error_of(sum, row);
}

// Every 4099th float up to 2^20 in magnitude, alone in its row: the error of a term that log_sum_exp-inl.h states, and
// 2^-24.
TEST(CpuSums, TermsAreAsGoodAsTheBoundSays) {
  on_every_target([](const Kernels& kernels) {
    for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(0x1p20F); bits += 4099) {
      const float x = std::bit_cast<float>(bits);
      ASSERT_LE(std::fabs(error_of(kernels, {x})), 2.5e-7 + 0x1p-24) << x;
      ASSERT_LE(std::fabs(error_of(kernels, {-x})), 2.5e-7 + 0x1p-24) << -x;
    }
  });
}

// Terms just below half an ulp of what they are added to are lost, all on the same side.
TEST(CpuSums, TermsBelowHalfAnUlpCostNoMoreThanTheBound) {
  on_every_target([](const Kernels& kernels) {
    for (int i = 0; i < 400; ++i) {
      for (const float part : {0.9F, 0.95F, 0.999F, 1.9F}) {
        const float x = 0.0016F * static_cast<float>(i - 100);
        std::vector<float> row(1024, x + std::log(part * 0x1p-24F));
        std::fill_n(row.begin(), kBlock, x);
        ASSERT_LE(std::fabs(error_of(kernels, row)), 9.5e-7) << x << ", part " << part;
      }
    }
  });
}

// A column that stands out, of every size: below, within and above what one exponent reaches.
void check_reach(const Kernels& kernels, float most, float size, size_t columns) {
  for (const float x : {size, -size}) {
    for (const size_t place : {size_t{0}, columns / 2, columns - 1}) {
      std::vector<float> row(columns, most);
      for (size_t i = 0; i < columns; i += 3) row[i] += 0.25F;
      row[place] = x;
      ASSERT_LE(std::fabs(error_of(kernels, row)), 9.5e-7) << columns << " columns, " << x << " in column " << place;
    }
  }
}

TEST(CpuSums, OneColumnMayBeAnywhere) {
  on_every_target([](const Kernels& kernels) {
    for (const float most : {0.0F, -3.0F, 80.0F, -1000.0F, 1.2e5F, -1.3e5F, 2e6F, -3e38F}) {
      for (int power = 0; power < 280; ++power) {
        const auto size = static_cast<float>(0.7 * std::pow(1.37, power));
        check_reach(kernels, most, size, 64);
        check_reach(kernels, most, size, 200);
      }
    }
  });
}

// Where a row begins with -inf, nothing is known of its size until a column is finite.
TEST(CpuSums, RowsMayBeginWithNothing) {
  on_every_target([](const Kernels& kernels) {
    for (const float x : {0.0F, -3.0F, 80.0F, 2e6F, -3e38F}) {
      for (const size_t empty : {size_t{1}, size_t{64}, size_t{130}}) {
        std::vector<float> row(200, x);
        std::fill_n(row.begin(), empty, -kInfinity);
        ASSERT_LE(std::fabs(error_of(kernels, row)), 9.5e-7) << empty << " of 200 columns are -inf, the others " << x;
      }
    }
    PartialSum sum;
    const std::vector<float> nothing(70, -kInfinity);
    kernels.sum_exp({nothing.data(), SIDBEAM_DTYPE_F32, 1.0F, 0.0F}, 70, nullptr, sum);
    ASSERT_EQ(sum.sum, 0.0);
  });
}

// Rows of plain and of odd numbers, one after the other: the same bits as a row by itself, on every target.
TEST(CpuSums, ManyRowsAreSummedAsOneByOne) {
  constexpr int64_t kColumns = 100;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Random random(7);
  for (int32_t rows = 1; rows <= 40; ++rows) {
    std::vector<float> x(static_cast<size_t>(rows * kColumns));
    for (float& value : x) value = static_cast<float>(random.below(4000)) / 100.0F - 20.0F;
    for (int32_t r = 0; r < rows; ++r) {
      float* row = x.data() + r * kColumns;
      const int64_t kind = random.below(10);  // most are plain
      if (kind == 0) std::fill_n(row, kColumns, -kInfinity);
      if (kind == 1) row[random.below(kColumns)] = kNan;
      if (kind == 2) row[random.below(kColumns)] = kInfinity;
      if (kind == 3) row[random.below(kColumns)] = 2e7F;
      if (kind == 4) row[0] = -kInfinity;
    }
    const bool by_stride = random.one_in(2);
    on_every_target([&](const Kernels& kernels) {
      std::vector<const void*> data(static_cast<size_t>(rows + 1));
      for (int32_t r = 0; r < rows; ++r)
        data[static_cast<size_t>(r)] = by_stride || r % 7 != 6 ? x.data() + r * kColumns : nullptr;
      std::vector<LogSum> logs(static_cast<size_t>(rows));
      RowsToSum sums;
      if (by_stride) {
        sums.elements.data = x.data() - 3;  // column 0, of which three are left out
        sums.stride = kColumns * 4;
        sums.first_column = 3;
      } else {
        sums.rows = data.data();
      }
      sums.count = rows;
      sums.columns = kColumns;
      kernels.log_sum_exp(sums, logs.data());
      for (int32_t r = 0; r < rows; ++r) {
        if (data[static_cast<size_t>(r)] == nullptr) continue;
        PartialSum sum;
        kernels_of(CpuTarget::kBaseline).sum_exp({x.data() + r * kColumns}, kColumns, nullptr, sum);
        const LogSum expected = log_of(sum), got = logs[static_cast<size_t>(r)];
        ASSERT_EQ(std::isnan(got.ref), std::isnan(expected.ref)) << "row " << r << " of " << rows;
        if (std::isnan(expected.ref)) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(got.ref), std::bit_cast<uint32_t>(expected.ref)) << r << " of " << rows;
        ASSERT_EQ(std::bit_cast<uint32_t>(got.rest), std::bit_cast<uint32_t>(expected.rest)) << r << " of " << rows;
      }
    });
  }
}

}  // namespace
}  // namespace sidbeam::cpu
