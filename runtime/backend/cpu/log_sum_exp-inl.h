// The sum of exp over a row, in one pass.
//
// A chunk of 1024 columns is summed on 64 virtual lanes, column j on lane j mod 64, whatever the width of a vector;
// lanes are folded in halves, chunks in double, in a binary tree over their numbers. So the tree depends on the number
// of columns alone. A lane adds at most 16 terms: rounding of the sum is at most (17/2 + 2) * 2^-24 + 7.6e-8 (exp)
// = 7.1e-7 relative, however the terms conspire. (2048 columns a chunk: 1.2e-6.)
//
// Terms are taken relative to 2^exponent, which only moves, exactly, when a block of 64 columns has an x more than 32
// octaves above it. Terms more than 96 octaves below count as 0. Where |x| passes 2^20 no integer power of two can be
// told from its neighbours; such a chunk is summed relative to its maximum. SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_LOG_SUM_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_LOG_SUM_EXP_INL
#undef SIDBEAM_CPU_LOG_SUM_EXP_INL
#else
#define SIDBEAM_CPU_LOG_SUM_EXP_INL
#endif

#include <algorithm>
#include <cmath>

#include "backend/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kLanes = 64;
inline constexpr int kVectors = kLanes / kWidth;
inline constexpr float kHuge = 1048576.0F;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr int kHeadroom = 32, kFloor = 96;  // octaves

struct Accumulator {
  Floats lane[kVectors];
  float limit = -kInfinity;  // a larger x moves the exponent
  float floor = -kInfinity;  // an x at or below it counts as 0
  int32_t exponent = 0;
  bool begun = false;
};

HWY_INLINE void begin(Accumulator& a) {
  for (int v = 0; v < kVectors; ++v) a.lane[v] = hn::Zero(F32());
}

// Sets the exponent to that of `largest`, |largest| <= kHuge, and rescales what was summed.
inline void move_exponent(Accumulator& a, float largest) {
  const F32 d;
  const auto exponent = static_cast<int32_t>(std::lrintf(largest * kLog2E));
  if (a.begun) {
    const int shift = a.exponent - exponent;
    const Floats scale = hn::Set(d, shift < -126 ? 0.0F : std::ldexp(1.0F, shift));
    for (int v = 0; v < kVectors; ++v) a.lane[v] = hn::Mul(a.lane[v], scale);
  }
  a.begun = true;
  a.exponent = exponent;
  a.limit = static_cast<float>(exponent + kHeadroom) * kLn2High;
  a.floor = static_cast<float>(exponent - kFloor) * kLn2High;
}

inline float largest_of_block(const float* x) {
  float result = -kInfinity;
  for (int i = 0; i < kLanes; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// Adds 64 columns; false where an x is out of reach of an integer exponent. NaN passes every test below and stays in
// its lane.
HWY_INLINE bool add_block(Accumulator& a, const float* x) {
  const F32 d;
  Floats value[kVectors];
  for (int v = 0; v < kVectors; ++v) value[v] = hn::LoadU(d, x + v * kWidth);
  Floats top = value[0];
  for (int v = 1; v < kVectors; ++v) top = hn::Max(top, value[v]);
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(top, hn::Set(d, a.limit))))) {
    const float largest = largest_of_block(x);
    if (std::fabs(largest) > kHuge) return false;
    move_exponent(a, largest);
  }
  const Floats floor = hn::Set(d, a.floor);
  for (int v = 0; v < kVectors; ++v) {
    const Floats term = scaled_exp(value[v], a.exponent);
    a.lane[v] = hn::Add(a.lane[v], hn::IfThenZeroElse(hn::Le(value[v], floor), term));
  }
  return true;
}

// Lanes i and i + 32, then i and i + 16, in vectors; the last 16 in double.
HWY_INLINE double fold(const Accumulator& a) {
  HWY_ALIGN float lane[kLanes];
  for (int v = 0; v < kVectors; ++v) hn::Store(a.lane[v], F32(), lane + v * kWidth);
  for (int width = kLanes / 2; width >= 16; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  double sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = static_cast<double>(lane[i]);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
  return sum[0] * kExpScale;
}

// A chunk whose x all lie within reach; false, with nothing said, where they do not.
inline bool sum_near_chunk(const float* x, int n, PartialSum& out) {
  Accumulator a;
  begin(a);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes)
    if (!add_block(a, x + i)) return false;
  if (i < n) {
    HWY_ALIGN float rest[kLanes];
    std::fill(rest, rest + kLanes, -kInfinity);
    std::memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(float));
    if (!add_block(a, rest)) return false;
  }
  out = {0.0F, a.exponent, fold(a)};
  return true;
}

// A chunk relative to its maximum. Differences of floats so large are exact or so large themselves that their exp is 0.
inline PartialSum sum_far_chunk(const float* x, int n) {
  float top = -kInfinity;
  for (int i = 0; i < n; ++i) {
    if (!(x[i] < kInfinity)) return {0.0F, 0, std::numeric_limits<double>::quiet_NaN()};
    top = std::max(top, x[i]);
  }
  float shifted[kChunk];
  for (int i = 0; i < n; ++i) shifted[i] = std::max(x[i] - top, x[i] == -kInfinity ? -kInfinity : -kHuge);
  PartialSum sum;
  sum_near_chunk(shifted, n, sum);
  sum.base = top;
  return sum;
}

inline PartialSum sum_chunk(const float* x, int n) {
  PartialSum sum;
  return sum_near_chunk(x, n, sum) ? sum : sum_far_chunk(x, n);
}

inline PartialSum sum_exp(const Elements& elements, int64_t n) {
  PartialSum pending[64];  // one a level of the tree, as the bits of a counter
  int64_t chunks = 0;
  float scratch[kChunk + kVectorSlack];
  for (int64_t first = 0; first < n; first += kChunk, ++chunks) {
    const int count = static_cast<int>(std::min<int64_t>(kChunk, n - first));
    const float* x = scratch;
    if (elements.plain()) {
      x = static_cast<const float*>(elements.data) + first;
    } else {
      load(elements, first, count, scratch);
    }
    PartialSum sum = sum_chunk(x, count);
    int level = 0;
    for (; (chunks >> level & 1) != 0; ++level) sum = merge(pending[level], sum);
    pending[level] = sum;
  }
  PartialSum total;
  for (int level = 0; level < 63; ++level)
    if ((chunks >> level & 1) != 0) total = merge(pending[level], total);
  return total;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
