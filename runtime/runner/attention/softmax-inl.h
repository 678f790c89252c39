// A step of the online softmax. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_SOFTMAX_INL
#undef SIDBEAM_RUNNER_SOFTMAX_INL
#else
#define SIDBEAM_RUNNER_SOFTMAX_INL
#endif

#include <algorithm>
#include <limits>

#include "runner/attention/kernels.h"
#include "runner/attention/tile-inl.h"
#include "runner/math/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

static_assert(kLanes == kSumLanes);
inline constexpr float kNone = -std::numeric_limits<float>::infinity();

// exp(x) for x <= 0, 0 below -80, and NaN of NaN.
HWY_INLINE Floats weight_of(Floats x) {
  const F32 d;
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -80.0F)), hn::Zero(d), exp_in_range(x));
}

// NaN is not the largest.
template <class V>
HWY_INLINE V larger(V a, V b) {
  return hn::IfThenElse(hn::Gt(b, a), b, a);
}

HWY_INLINE void scale_output(const HeadRows& rows, int64_t r, float factor) {
  const F32 d;
  float* const output = rows.output + r * rows.dims;
  for (int64_t i = 0; i < rows.dims; i += kWidth) {
    hn::Store(hn::Mul(hn::Load(d, output + i), hn::Set(d, factor)), d, output + i);
  }
}

// The first n lanes; zeros behind them.
HWY_INLINE Floats load_some(const float* from, size_t n) {
  if (n == kWidth) return hn::LoadU(F32(), from);
  HWY_ALIGN float some[kWidth] = {};
  std::copy_n(from, n, some);
  return hn::Load(F32(), some);
}

// What n products of a row with keys become: scaled, then biased.
struct Scoring {
  int64_t n;
  float scale;
  const float* bias;      // [n], or nullptr
  const float* row_bias;  // the same

  // Of the products [i, i + kWidth), the first `left` of which are some.
  HWY_INLINE Floats operator()(Floats products, int64_t i, size_t left) const {
    const F32 d;
    const Floats factor = hn::Set(d, scale);
    Floats scores = bias == nullptr ? hn::Mul(products, factor) : fma(products, factor, load_some(bias + i, left));
    if (row_bias != nullptr) scores = hn::Add(scores, load_some(row_bias + i, left));
    return scores;
  }
};

// Makes scores of products, in place, and returns the largest. Behind the last, up to a panel's end, they are kNone.
HWY_INLINE float score(const Scoring& scoring, float* scores) {
  const F32 d;
  Floats largest[kVectors];
  for (Floats& lanes : largest) lanes = hn::Set(d, kNone);
  for (int64_t i = 0; i < scoring.n; i += kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* const at = scores + i + v * kWidth;
      const auto left = static_cast<size_t>(std::clamp<int64_t>(scoring.n - i - v * kWidth, 0, kWidth));
      const Floats some = scoring(hn::Load(d, at), i + v * kWidth, left);
      const Floats all = left == kWidth ? some : hn::IfThenElse(hn::FirstN(d, left), some, hn::Set(d, kNone));
      hn::Store(all, d, at);
      largest[v] = larger(largest[v], all);
    }
  }
  return fold(largest, [](auto a, auto b) HWY_ATTR { return larger(a, b); });
}

// Turns the n scores of row r, of which `highest` is the largest, into weights, and brings what the row has summed so
// far to their scale. Weights behind the last, up to a panel's end, are 0.
HWY_INLINE void soften(const HeadRows& rows, int64_t r, float* scores, int64_t n, float highest) {
  const F32 d;
  const float before = rows.largest[r], largest = std::max(before, highest);
  const float origin = largest == kNone ? 0.0F : largest;  // -inf - -inf is NaN
  Floats sums[kVectors];
  for (Floats& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < n; i += kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = weight_of(hn::Sub(hn::Load(d, scores + i + v * kWidth), hn::Set(d, origin)));
      hn::Store(weight, d, scores + i + v * kWidth);
      sums[v] = hn::Add(sums[v], weight);
    }
  }
  rows.largest[r] = largest;
  if (before == kNone) {  // nothing has been summed
    rows.sum[r] += sum_of(sums);
    return;
  }
  const float keep = hn::GetLane(weight_of(hn::Set(d, before - origin)));
  rows.sum[r] = rows.sum[r] * keep + sum_of(sums);
  if (keep != 1.0F) scale_output(rows, r, keep);
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
