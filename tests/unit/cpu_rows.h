// Random rows and candidates for the tests of the CPU's kernels. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_scan.h"
#include "sidbeam/sidbeam.h"

namespace sidbeam::cpu {

// Calls test(kernels) for each instruction set of this machine.
template <class Test>
void on_every_target(const Test& test) {
  for (const CpuTarget target : kCpuTargets) {
    if (!has_cpu_target(target)) continue;
    SCOPED_TRACE(cpu_target_name(target));
    test(kernels_of(target));
  }
}

struct Random {
  std::mt19937_64 engine;

  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t among(std::initializer_list<int64_t> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }
};

struct Candidate {
  float score;
  uint32_t place;
};

// Candidates of a row that count, in order.
inline void add_candidate(std::vector<Candidate>& all, const RowScore& row, float x, uint32_t token) {
  const float score = score_of_one(row, x);
  if (score > -kInfinity) all.push_back({score, row.place_base | token});
}

// A row of logits in any dtype, in memory of exactly its size.
struct TestRow {
  int32_t dtype = 0;
  std::vector<float> wide;
  std::vector<uint16_t> narrow;

  Elements elements() const {
    return {dtype == SIDBEAM_DTYPE_F32 ? static_cast<const void*>(wide.data()) : narrow.data(), dtype, 1.0F, 0.0F};
  }
  int64_t columns() const { return static_cast<int64_t>(dtype == SIDBEAM_DTYPE_F32 ? wide.size() : narrow.size()); }
  float at(int64_t column) const { return element_at(elements(), column); }
  // Rounds towards 0; values of 16 bits are 0, -inf or normal.
  void add(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (dtype == SIDBEAM_DTYPE_F32) {
      wide.push_back(value);
    } else if (dtype == SIDBEAM_DTYPE_BF16) {
      narrow.push_back(static_cast<uint16_t>(bits >> 16));
    } else {
      const uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xFF;
      const uint32_t rest = exponent == 0      ? 0
                            : exponent == 0xFF ? 0x7C00
                                               : (exponent - 112) << 10 | (bits >> 13 & 0x3FF);
      narrow.push_back(static_cast<uint16_t>(sign | rest));
    }
  }
};

// Kinds of scores: kTies has few different ones; kHuge is beyond the exponents of a sum.
enum class Shape { kRandom, kTies, kEqual, kRising, kFalling, kHuge };

// Values of a shape, one after the other over many rows.
struct Values {
  Random& random;
  Shape shape;
  int64_t masked;  // one in this many is -inf; 0: none
  int64_t drawn = 0;

  float next() {
    ++drawn;
    if (masked != 0 && random.one_in(masked)) return -kInfinity;
    switch (shape) {
      case Shape::kRandom:
        return (random.one_in(2) ? 1.0F : -1.0F) *
               std::ldexp(1.0F + static_cast<float>(random.below(1 << 20)) * 0x1p-20F,
                          static_cast<int>(random.below(9)) - 4);
      case Shape::kTies:
        return static_cast<float>(random.below(7)) - 3.0F;
      case Shape::kEqual:
        return -1.5F;
      case Shape::kRising:
        return static_cast<float>(std::min<int64_t>(drawn, 60000));
      case Shape::kFalling:
        return -static_cast<float>(std::min<int64_t>(drawn, 60000));
      default:
        return random.one_in(3) ? -3e38F : -static_cast<float>(random.below(5)) * 2e6F;
    }
  }
};

inline Values draw_values(Random& random, int32_t dtype) {
  const auto shape = static_cast<Shape>(random.below(dtype == SIDBEAM_DTYPE_F32 ? 6 : 5));
  return {random, shape, random.among({0, 0, 2, 20})};
}

inline TestRow draw_row(Values& values, int32_t dtype, int64_t columns) {
  TestRow row;
  row.dtype = dtype;
  for (int64_t c = 0; c < columns; ++c) row.add(values.next());
  return row;
}

inline RowScore draw_score(Random& random, Shape shape, uint32_t place_base) {
  RowScore row;
  row.place_base = place_base;
  row.clamp = random.one_in(3);
  if (shape == Shape::kRising || shape == Shape::kFalling) return row;
  row.score = -0.5F * static_cast<float>(random.below(4));
  if (random.one_in(2)) row.normalizer = {static_cast<float>(random.below(9)) * 0.75F, 0.0F};
  if (random.one_in(4)) row.normalizer = {11.125F, 1e-7F * static_cast<float>(random.below(9))};
  if (shape == Shape::kHuge && random.one_in(2)) row.score = -3e38F;  // scores of -inf
  return row;
}

// A slice of a row with everything that it points to.
struct TestSlice {
  TestRow row;
  std::vector<uint64_t> mask;
  std::vector<float> maxima;
  Slice slice;

  bool counts(int64_t token) const {
    return mask.empty() || (mask[static_cast<size_t>(token / 64)] >> token % 64 & 1) != 0;
  }
  float x(int64_t token) const { return row.at(slice.first_column + token); }
};

// Of `codes` codes anywhere in a row, often at its end; with and without a mask (whose last word may have more bits
// than codes) and maxima.
inline void draw_slice(Random& random, const Kernels& kernels, Values& values, int32_t dtype, int64_t codes,
                       TestSlice& out) {
  const int64_t first = random.one_in(2) ? random.among({0, 64, 192, 256}) : random.below(200);
  const int64_t columns = first + codes + (random.one_in(2) ? 0 : random.below(200));
  out.row = draw_row(values, dtype, columns);
  out.slice = {out.row.elements().data, dtype, columns, first, codes, nullptr, nullptr};
  const int64_t density = random.among({0, 1, 2, 40});  // 0: no mask
  if (density != 0) {
    out.mask.assign(static_cast<size_t>((codes + 63) / 64), 0);
    for (size_t bit = 0; bit < out.mask.size() * 64; ++bit)
      if (random.one_in(density)) out.mask[bit / 64] |= uint64_t{1} << bit % 64;
    out.slice.mask = out.mask.data();
  }
  if (random.one_in(2)) {
    out.maxima.assign(static_cast<size_t>(maxima_size(columns)), kInfinity);
    PartialSum sum;
    kernels.sum_exp(out.row.elements(), columns, out.maxima.data(), sum);
    out.slice.maxima = out.maxima.data();
  }
  for (int64_t t = 0; t < codes; ++t) out.slice.valid += out.counts(t) ? 1 : 0;
}

}  // namespace sidbeam::cpu
