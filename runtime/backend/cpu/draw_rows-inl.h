// Draws from many rows, each step for all of them. A row's steps wait for one another (the largest, the sums of blocks,
// the logarithm, the choice), and another row's fill the time: one row after the other takes a seventh longer.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_DRAW_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_DRAW_ROWS_INL
#undef SIDBEAM_CPU_DRAW_ROWS_INL
#else
#define SIDBEAM_CPU_DRAW_ROWS_INL
#endif

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/cpu/draw-inl.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/row_sums-inl.h"
#include "backend/cpu/rows-inl.h"
#include "backend/draw.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// The largest of n numbers, none of which is NaN.
inline float largest_number(const float* x, int64_t n) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  if (n < kWidth) return std::accumulate(x, x + n, kNone, [](float best, float each) { return std::max(best, each); });
  const F32 d;
  Floats best = hn::LoadU(d, x + n - kWidth), other = best;
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    best = hn::Max(best, hn::LoadU(d, x + i));
    other = hn::Max(other, hn::LoadU(d, x + i + kWidth));
  }
  best = hn::Max(best, hn::LoadU(d, x + std::min(i, n - kWidth)));  // the rest, and some of them again
  return largest_lane(hn::Max(best, other));
}

// log_of_weights(), operation by operation.
inline void log_totals(const DrawnRow* rows, int32_t n, int bits, LogSum* logs) {
  const F64 d;
  const hn::Rebind<float, F64> df;
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(F64()));
  HWY_ALIGN double totals[kLanes], largest[kLanes];
  HWY_ALIGN float refs[kLanes], rests[kLanes];
  for (int32_t first = 0; first < n; first += kLanes) {
    for (int32_t i = 0; i < kLanes; ++i) {
      const DrawnRow& row = rows[std::min(first + i, n - 1)];
      totals[i] = static_cast<double>(static_cast<int64_t>(row.total));
      largest[i] = static_cast<double>(row.largest);
    }
    const Doubles log = hn::Sub(log_of_each(hn::Load(d, totals)), hn::Set(d, bits * kLn2));
    const Doubles ref = hn::Load(d, largest);
    const auto rounded = hn::DemoteTo(df, hn::Add(ref, log));
    hn::Store(rounded, df, refs);
    hn::Store(hn::DemoteTo(df, hn::Add(hn::Sub(ref, hn::PromoteTo(d, rounded)), log)), df, rests);
    for (int32_t i = 0; i < std::min(kLanes, n - first); ++i) logs[first + i] = {refs[i], rests[i]};
  }
}

inline void draw_rows(DrawnRow* rows, int32_t n, int bits, uint64_t* cumulative, LogSum* logs) {
  for (int32_t i = 0; i < n; ++i) rows[i].largest = largest_number(rows[i].x, rows[i].count);
  for (int32_t i = 0; i < n; ++i) {
    DrawnRow& row = rows[i];
    if (outcome_of_largest(row.largest) != RowOutcome::kReady) continue;
    row.cumulative = cumulative;
    row.total = weigh(row.x, row.count, row.largest, bits, row.x, cumulative);
    cumulative += (row.count + kDrawBlock - 1) / kDrawBlock;
  }
  log_totals(rows, n, bits, logs);
  for (int32_t i = 0; i < n; ++i) {
    DrawnRow& row = rows[i];
    if (row.total == 0) continue;
    choose(row.x, row.cumulative, row.count, row.total, &row.bits, 1, &row.chosen);
  }
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
