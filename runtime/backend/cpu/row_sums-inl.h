// The last steps of row sums and their logarithms, for many rows at once. For a single row of 256 columns they would
// take as long as its columns.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_ROW_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_ROW_SUMS_INL
#undef SIDBEAM_CPU_ROW_SUMS_INL
#else
#define SIDBEAM_CPU_ROW_SUMS_INL
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/exp_terms-inl.h"
#include "backend/partial_sum.h"
#include "support/portable_math.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// A row's sum, scaled, relative to 2^exponent. If `whole`, it is an unscaled PartialSum.
struct RowSum {
  double sum, exponent;
  float base;
  bool whole;
};

inline constexpr double kDeficit = 1.3349758171622139e-8;  // log_sum_exp-inl.h
inline constexpr double kDeficitOfMean = kDeficit * kLn2 * 0.5;

// The part of twice the mean of x under the softmax, in octaves, that does not depend on the sum.
inline double mean_of_columns(int64_t n) {
  return static_cast<double>(1 - static_cast<int>(std::bit_width(static_cast<uint64_t>(n))));
}

inline RowSum row_sum_of(const PartialSum& sum) { return {sum.sum, static_cast<double>(sum.exponent), sum.base, true}; }

// The sum of a row of n columns.
inline PartialSum whole_sum(const RowSum& row, int64_t n) {
  const auto exponent = static_cast<int32_t>(row.exponent);
  if (row.whole) return {row.base, exponent, row.sum};
  if (row.sum == 0.0) return {};
  const double mean = 2.0 * (row.exponent + exponent_of(row.sum)) + mean_of_columns(n);
  const double z = kDeficitOfMean * mean;  // |z| < 0.002
  return {0.0F, exponent, row.sum * (1.0 / kTermScale) * (1.0 + z * (1.0 + z * 0.5))};
}

using F64 = hn::ScalableTag<double>;
using I64 = hn::RebindToSigned<F64>;
using Doubles = hn::Vec<F64>;

// reciprocal_near_2() and portable_log(), operation by operation.
HWY_INLINE Doubles reciprocal_of_each(Doubles x) {
  const F64 d;
  const auto nearer = [&](Doubles r) HWY_ATTR { return hn::Mul(r, hn::Sub(hn::Set(d, 2.0), hn::Mul(x, r))); };
  const Doubles line = hn::Sub(hn::Set(d, kReciprocalAt0), hn::Mul(hn::Set(d, kReciprocalSlope), x));
  return nearer(nearer(nearer(line)));
}
HWY_INLINE Doubles log_of_each(Doubles x) {
  const F64 d;
  const I64 di;
  const auto set = [&](double value) { return hn::Set(d, value); };
  const auto bits = hn::BitCast(di, x), above = hn::Sub(bits, hn::Set(di, static_cast<int64_t>(kSqrtHalf)));
  const Doubles exponent = hn::ConvertTo(d, hn::ShiftRight<52>(above));
  const auto whole_octaves = hn::And(above, hn::Set(di, static_cast<int64_t>(0xFFF0000000000000)));
  const Doubles mantissa = hn::BitCast(d, hn::Sub(bits, whole_octaves)), one = set(1.0);
  const Doubles s = hn::Mul(hn::Sub(mantissa, one), reciprocal_of_each(hn::Add(mantissa, one)));
  const Doubles z = hn::Mul(s, s), z2 = hn::Mul(z, z);
  const auto pair = [&](double a, double b) { return hn::Add(set(a), hn::Mul(z, set(b))); };
  const Doubles low = hn::Add(pair(1.0 / 3, 1.0 / 5), hn::Mul(z2, pair(1.0 / 7, 1.0 / 9)));
  const Doubles high = hn::Add(pair(1.0 / 11, 1.0 / 13), hn::Mul(z2, set(1.0 / 15)));
  const Doubles series = hn::Add(low, hn::Mul(hn::Mul(z2, z2), high));
  const Doubles odd = hn::Add(s, hn::Mul(hn::Mul(s, z), series));
  return hn::Add(hn::Mul(exponent, set(kLn2)), hn::Mul(set(2.0), odd));
}

// AVX-512 gathers into a register that counts as an input. gcc 12 picks any register, mostly the result of the previous
// gather, and so waits for the previous rows; zeros avoid that. gcc removes the zeros if it can see that the mask is
// full. (Chains of beams, which wait for memory, took longer with zeros.)
HWY_INLINE Doubles gather(const double* base, hn::Vec<I64> index) {
#if HWY_TARGET == HWY_AVX3
  __mmask8 all = 0xFF;
  asm("" : "+Yk"(all));
  return Doubles{_mm512_mask_i64gather_pd(_mm512_setzero_pd(), all, index.raw, base, 8)};
#else
  return hn::GatherIndex(F64(), base, index);
#endif
}

// log_of(whole_sum()), operation by operation, for the first `count` rows, except those that are whole; `part_of_mean`
// is mean_of_columns() of each.
HWY_INLINE void log_each(const RowSum* rows, int32_t count, Doubles part_of_mean, LogSum* logs) {
  const F64 d;
  const I64 di;
  const hn::Rebind<float, F64> df;
  constexpr int64_t kStride = sizeof(RowSum) / sizeof(double);
  const auto at = hn::Mul(hn::Iota(hn::Rebind<int32_t, F64>(), 0), hn::Set(hn::Rebind<int32_t, F64>(), kStride));
  const auto index = hn::PromoteTo(di, at);
  const Doubles scaled = gather(&rows->sum, index), row_exponent = gather(&rows->exponent, index);
  const auto biased = hn::And(hn::ShiftRight<52>(hn::BitCast(di, scaled)), hn::Set(di, 0x7FF));
  const Doubles exponent = hn::ConvertTo(d, hn::Sub(biased, hn::Set(di, 1023)));
  const Doubles mean = hn::Add(hn::Mul(hn::Set(d, 2.0), hn::Add(row_exponent, exponent)), part_of_mean);
  const Doubles z = hn::Mul(hn::Set(d, kDeficitOfMean), mean), one = hn::Set(d, 1.0);
  const Doubles deficit = hn::Add(one, hn::Mul(z, hn::Add(one, hn::Mul(z, hn::Set(d, 0.5)))));
  const Doubles sum = hn::Mul(hn::Mul(scaled, hn::Set(d, 1.0 / kTermScale)), deficit);
  const Doubles log = log_of_each(sum), reference = hn::Mul(row_exponent, hn::Set(d, kLn2));
  const auto rounded = hn::DemoteTo(df, hn::Add(reference, log));
  const Doubles rest = hn::Add(hn::Sub(reference, hn::PromoteTo(d, rounded)), log);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  // A sum that is not above 0 and below infinity is empty or bad.
  const auto empty = hn::Eq(scaled, hn::Zero(d)), good = hn::And(hn::Gt(scaled, hn::Zero(d)), hn::Lt(scaled, infinity));
  HWY_ALIGN double refs[hn::MaxLanes(F64())], rests[hn::MaxLanes(F64())];
  const Doubles odd = hn::IfThenElse(empty, hn::Neg(infinity), hn::Set(d, std::numeric_limits<double>::quiet_NaN()));
  hn::Store(hn::IfThenElse(good, hn::PromoteTo(d, rounded), odd), d, refs);
  hn::Store(hn::IfThenElseZero(good, rest), d, rests);
  for (int32_t i = 0; i < count; ++i) logs[i] = {static_cast<float>(refs[i]), static_cast<float>(rests[i])};
}

// Reads up to a vector past the last element.
inline void log_sums(const RowSum* sums, int32_t rows, int64_t n, LogSum* logs) {
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(F64()));
  const Doubles part_of_mean = hn::Set(F64(), mean_of_columns(n));
  for (int32_t r = 0; r < rows; r += kLanes) log_each(sums + r, std::min(kLanes, rows - r), part_of_mean, logs + r);
  for (int32_t r = 0; r < rows; ++r)
    if (HWY_UNLIKELY(sums[r].whole)) logs[r] = log_of(whole_sum(sums[r], n));
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
