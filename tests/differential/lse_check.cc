// Log-sum-exp to 1e-6 relative on the sum, and rows without one, seen through the C ABI: topk of an index with one SID
// gives x - lse of its column. The same row must give the same bits at any address, place in a batch and instruction
// set.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <limits>

#include "checks.h"

namespace differential {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr const char* kDtypes[] = {"f32", "f16", "bf16"};

// Kinds of rows; column 0 is `shift` for equal logits.
enum Kind {
  kEqual,
  kPeak,
  kGaussian,
  kSteep,
  kAbove,
  kBelow,
  kLeadingMask,
  kLastOnly,
  kHuge,
  kMasked,
  kRising,
  kFalling,
  kKinds
};
constexpr const char* kKindNames[] = {"equal",      "constant plus peak", "gaussian",     "steep",
                                      "around 6e4", "around -6e4",        "leading -inf", "all but the last -inf",
                                      "huge",       "masked by -1e9",     "rising",       "falling"};

double draw_gaussian(uint64_t hash) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(hash >> (16 * i) & 0xffff) / 65536.0 - 0.5;
  return sum * std::sqrt(3.0);
}

// Element i of n. A constant plus a peak of the weight of all the rest leaves log-prob near ln 1/2, so that hardly any
// rounding hides the error of the sum.
double element(Kind kind, int64_t i, int64_t n, double shift) {
  const double g = draw_gaussian(mix(static_cast<uint64_t>(n), static_cast<uint64_t>(i)));
  const double place = static_cast<double>(i) / static_cast<double>(n);
  switch (kind) {
    case kEqual:
      return shift;
    case kPeak:
      return i == n / 3 ? shift + std::log(std::max<double>(1, static_cast<double>(n - 1))) : shift;
    case kGaussian:
      return g;
    case kSteep:
      return 10 * g;
    case kAbove:
      return 6e4 + 3 * g;
    case kBelow:
      return -6e4 + 3 * g;
    case kLeadingMask:
      return 2 * i < n - 1 ? -HUGE_VAL : g;
    case kLastOnly:
      return i < n - 1 ? -HUGE_VAL : g;
    case kHuge:
      return (i % 2 == 0 ? 1e30 : -1e30) * (i % 3 == 0 ? 1 : 0.5);
    case kMasked:
      return i % 3 == 1 ? -1e9 : g;
    case kRising:
      return 400 * place - 200;
    default:
      return 200 - 400 * place;
  }
}

struct Row {
  std::vector<uint32_t> bits;  // in the dtype
  std::vector<float> values;
  size_t largest = 0;
  double log_sum = 0;  // of exp(value - the largest), in float64
};

Row make_row(Kind kind, int64_t n, int dtype, double shift) {
  const auto type = static_cast<oracle::Dtype>(dtype);
  Row row;
  for (int64_t i = 0; i < n; ++i) {
    double value = element(kind, i, n, shift);
    if (dtype == SIDBEAM_DTYPE_F16 && std::isfinite(value)) value = std::clamp(value, -65504.0, 65504.0);
    row.bits.push_back(oracle::encode(type, static_cast<float>(value)));
    row.values.push_back(oracle::decode(type, row.bits.back()));
  }
  row.largest = static_cast<size_t>(std::max_element(row.values.begin(), row.values.end()) - row.values.begin());
  const double largest = double{row.values[row.largest]};
  double sum = 0;
  for (float value : row.values) sum += std::exp(double{value} - largest);
  row.log_sum = std::log(sum);
  return row;
}

// Three rows, the row in question at place `at`, its first element `shift` elements into the memory, NaN around it
// where the stride leaves room.
Feed lay_out(const Row& row, int dtype, int64_t at, int64_t shift, int64_t margin) {
  Feed memory;
  const auto n = static_cast<int64_t>(row.bits.size());
  const int64_t stride = n + 2 * margin;
  const auto size = static_cast<size_t>(3 * stride + shift);
  memory.wide.assign(dtype == SIDBEAM_DTYPE_F32 ? size : 0, std::nanf(""));
  memory.narrow.assign(dtype == SIDBEAM_DTYPE_F32 ? 0 : size, static_cast<uint16_t>(0x7fff));
  for (int64_t i = 0; i < n; ++i) {
    const auto place = static_cast<size_t>(shift + at * stride + margin + i);
    const uint32_t bits = row.bits[static_cast<size_t>(i)];
    if (dtype == SIDBEAM_DTYPE_F32) {
      memory.wide[place] = std::bit_cast<float>(bits);
    } else {
      memory.narrow[place] = static_cast<uint16_t>(bits);
    }
  }
  memory.rows.dtype = dtype;
  memory.rows.data =
      dtype == SIDBEAM_DTYPE_F32 ? static_cast<void*>(memory.wide.data() + shift) : memory.narrow.data() + shift;
  memory.rows.rows = 3;
  memory.rows.columns = stride;
  memory.rows.row_stride = stride;
  return memory;
}

Constraint one_code(sidbeam_runtime* runtime, int32_t codes, int32_t code) {
  World world;
  world.wholes.push_back(oracle::make_catalogue({codes}, false, {{{code}, 0, 0}}));
  world.catalogues = world.wholes;
  world.pairs.push_back({{{code}, 0, 0}});
  world.c.lean = 1;
  Loaded loaded = load(runtime, world, 0);
  return std::move(loaded.constraint);
}

float log_prob(const Way& way, sidbeam_constraint* constraint, const Feed& memory, int64_t at, int64_t offset,
               int normalization) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 1;
  vocabulary.offsets = &offset;
  const Place& place = *way.place;
  const ConstraintSet set = make_set(way.runtime.get(), place, {constraint}, &vocabulary);
  const Delivery there(place, memory);
  const Array<sidbeam_state> states(place, {at == 0 ? 0 : -1, at == 1 ? 0 : -1, at == 2 ? 0 : -1});
  Array<int32_t> codes(place, 3, -9);
  Array<float> log_probs(place, 3, -9.0F);
  call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk,
       static_cast<const sidbeam_constraint_set*>(set.get()), static_cast<const int32_t*>(nullptr),
       static_cast<const sidbeam_state*>(states.data()), &there.rows, normalization, 1, codes.data(), log_probs.data(),
       static_cast<sidbeam_state*>(nullptr), place.stream());
  return log_probs.fetch()[static_cast<size_t>(at)];
}

// 1e-6 on the sum, and half an ulp for each of x - ref, the logarithm of the sum, and their difference.
void check_value(const Row& row, size_t column, float came, const std::string& what, double* worst) {
  const double expected = std::min(0.0, (double{row.values[column]} - double{row.values[row.largest]}) - row.log_sum);
  const double log_sum = std::log(static_cast<double>(row.values.size())) + 1;
  const double allowed = 1e-6 + 0x1p-24 * (2 * std::fabs(expected) + 2 * log_sum);
  const double relative = std::fabs(expected - double{came});  // of the sum, to first order
  expect(relative <= allowed, what, ", column ", column, ": log-prob is ", came, ", float64 says ", expected, ": ",
         relative, " relative on the sum, allowed ", allowed);
  *worst = std::max(*worst, relative / allowed);
}

struct Bench {
  const std::vector<Way>& ways;
  LogSumExpRows wanted;
  double worst = 0;  // part of what is allowed
  int64_t rows = 0;
};

// One row through every target, place and address. FULL reads the row as it is; LEVEL a slice with NaN on both sides.
void check_row(Bench* bench, Kind kind, int64_t n, int dtype, double shift) {
  const Row row = make_row(kind, n, dtype, shift);
  const std::string what = std::string(kKindNames[kind]) + ", " + std::to_string(n) + " columns, " + kDtypes[dtype] +
                           ", shift " + std::to_string(shift);
  const size_t columns[] = {row.largest, row.values.size() - 1};
  for (const size_t column : columns) {
    if (row.values[column] == -kInfinity) continue;
    uint32_t first = 0;
    bool have_first = false;
    for (const Way& target : bench->ways) {
      const Constraint single = one_code(target.runtime.get(), 1, 0);
      const Constraint slice = one_code(target.runtime.get(), static_cast<int32_t>(n), static_cast<int32_t>(column));
      for (const int64_t at : {0, 2}) {
        const Feed full = lay_out(row, dtype, at, at / 2 * 3, 0), margins = lay_out(row, dtype, at, at / 2, 1 + at);
        const float a = log_prob(target, single.get(), full, at, static_cast<int64_t>(column), SIDBEAM_NORMALIZE_FULL);
        const float b = log_prob(target, slice.get(), margins, at, 1 + at, SIDBEAM_NORMALIZE_LEVEL);
        check_value(row, column, a, what + ", " + target.name, &bench->worst);
        if (!have_first) first = std::bit_cast<uint32_t>(a);
        have_first = true;
        expect(std::bit_cast<uint32_t>(a) == first && std::bit_cast<uint32_t>(b) == first, what, ", column ", column,
               ", ", target.name, ", row ", at, ": bits ", std::bit_cast<uint32_t>(a), " (full) and ",
               std::bit_cast<uint32_t>(b), " (level), first came ", first);
      }
    }
  }
  ++bench->rows;
}

// One NaN or +inf, of any payload, anywhere among the columns, makes the row bad.
void check_bad_element(Bench* bench, int64_t n, int dtype, const Way& target) {
  const Constraint constraint = one_code(target.runtime.get(), 1, 0);
  const std::vector<uint32_t> bad =
      dtype == SIDBEAM_DTYPE_F32
          ? std::vector<uint32_t>{0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0x7f800000}
      : dtype == SIDBEAM_DTYPE_F16 ? std::vector<uint32_t>{0x7e00, 0xfe00, 0x7c01, 0xfc01, 0x7fff, 0x7c00}
                                   : std::vector<uint32_t>{0x7fc0, 0xffc0, 0x7f81, 0xff81, 0x7fff, 0x7f80};
  for (const uint32_t bits : bad) {
    for (const int64_t place : {int64_t{0}, n / 2, n - 1}) {
      Row row = make_row(kGaussian, n, dtype, 0);
      row.bits[static_cast<size_t>(place)] = bits;
      const float came = log_prob(target, constraint.get(), lay_out(row, dtype, 0, 0, 0), 0, 0, SIDBEAM_NORMALIZE_FULL);
      expect(std::isnan(came), "a row of ", n, " columns, ", kDtypes[dtype], ", ", target.name, ", with bits ", bits,
             " in column ", place, " is not bad: log-prob ", came);
    }
  }
  ++bench->rows;
}

void check_all(Bench* bench) {
  for (const int64_t n :
       {1, 2, 3, 7, 63, 64, 65, 127, 129, 1023, 1024, 1025, 2047, 2048, 2049, 4097, 150000, 1 << 20, 1 << 24}) {
    if (n > bench->wanted.most_columns) continue;
    for (int dtype = 0; dtype < 3; ++dtype) {
      for (int kind = 0; kind < kKinds; ++kind) {
        if (kind == kHuge && dtype == SIDBEAM_DTYPE_F16) continue;
        if (n > 1 << 20 && (kind != kPeak || dtype != SIDBEAM_DTYPE_F32)) continue;  // the row that shows errors best
        check_row(bench, static_cast<Kind>(kind), n, dtype, 0.3);
      }
    }
  }
  for (const Way& target : bench->ways) {
    for (const int64_t n : {1, 2, 17, 64, 65, 1025}) {
      for (int dtype = 0; dtype < 3; ++dtype) check_bad_element(bench, n, dtype, target);
    }
  }
  // Equal logits of many fractions: each reduces the exponential to another place of its polynomial.
  for (int k = 0; k < bench->wanted.fractions; ++k) {
    const double shift = static_cast<double>(k) / 37.0 - 5;
    check_row(bench, kEqual, 65, SIDBEAM_DTYPE_F32, shift);
    check_row(bench, kPeak, 1025, SIDBEAM_DTYPE_F32, shift);
  }
}

}  // namespace

int report_log_sum_exp(const std::vector<Way>& ways, const LogSumExpRows& rows) {
  try {
    Bench bench{ways, rows};
    check_all(&bench);
    std::cout << bench.rows << " rows passed on " << ways.size() << " targets; the worst took " << 100 * bench.worst
              << " % of what is allowed\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "log_sum_exp: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace differential
