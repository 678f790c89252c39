// The tables of rotary embeddings. From +, -, * and / alone, because the C library's functions may differ in the last
// bit from machine to machine. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runner/math/rows.h"
#include "support/portable_math.h"

namespace sidbeam::runner {
namespace {

// pi / 2 in three parts (fdlibm's): a multiple of the first two below 2^20 is exact.
constexpr double kQuarterHigh = 1.57079632673412561417e+00;
constexpr double kQuarterMiddle = 6.07710050630396597660e-11;
constexpr double kQuarterLow = 2.02226624879595063154e-21;

// The series sum of (-1)^k r^(2k + odd) / (2k + odd)!, |r| <= pi / 4.
double alternating_series(double r, int odd) {
  double sum = 1.0;
  for (int k = 9; k >= 1; --k) sum = 1.0 - sum * (r * r) / ((2 * k + odd) * (2 * k + odd - 1));
  return odd != 0 ? r * sum : sum;
}

// Of 0 <= angle < 2^20, to 1e-15.
void cosine_sine(double angle, double& cosine, double& sine) {
  const double quarters = std::floor(angle / (kQuarterHigh + kQuarterMiddle) + 0.5);
  const double r = ((angle - quarters * kQuarterHigh) - quarters * kQuarterMiddle) - quarters * kQuarterLow;
  const double even = alternating_series(r, 0), odd = alternating_series(r, 1);
  switch (static_cast<int64_t>(quarters) % 4) {
    case 0:
      cosine = even, sine = odd;
      break;
    case 1:
      cosine = -odd, sine = even;
      break;
    case 2:
      cosine = -even, sine = -odd;
      break;
    default:
      cosine = odd, sine = -even;
      break;
  }
}

}  // namespace

void rope_frequencies(double theta, int64_t head_dim, float* out) {
  const double log_theta = portable_log(theta);
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    out[i] = 1.0F / static_cast<float>(1.0 / portable_exp(-static_cast<double>(exponent) * log_theta));
  }
}

RopeTable make_rope_table(const Allocator& allocator, int64_t positions, std::span<const float> frequencies,
                          float factor) {
  RopeTable table;
  table.positions = positions, table.half = static_cast<int64_t>(frequencies.size());
  const int64_t entries = checked_bytes(positions, table.half);
  table.cosines = Buffer<float>(allocator, entries), table.sines = Buffer<float>(allocator, entries);
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t i = 0; i < table.half; ++i) {
      const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(i)];
      double cosine, sine;
      cosine_sine(static_cast<double>(angle), cosine, sine);
      table.cosines[position * table.half + i] = static_cast<float>(cosine) * factor;
      table.sines[position * table.half + i] = static_cast<float>(sine) * factor;
    }
  }
  return table;
}

}  // namespace sidbeam::runner
