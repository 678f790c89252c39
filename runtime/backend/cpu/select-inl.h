// Cuts candidates back to the best, and ranks them. Only scores are compared, because candidates are in the order of
// places and ties go to the first. There are no keys, no sort, and no branch that depends on a score.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_SELECT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_SELECT_INL
#undef SIDBEAM_CPU_SELECT_INL
#else
#define SIDBEAM_CPU_SELECT_INL
#endif

#include <algorithm>
#include <bit>
#include <limits>

#include "backend/cpu/append-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// Maps floats to integers of the same order, and back. Scores are neither NaN nor -0.
inline int32_t ordered(float score) {
  const auto bits = std::bit_cast<int32_t>(score);
  return bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
}
inline float unordered(int32_t key) { return std::bit_cast<float>(key >= 0 ? key : key ^ 0x7FFFFFFF); }

// The number of scores above `bound` among n, a multiple of kWidth.
HWY_INLINE int32_t count_above(const float* scores, int32_t n, float bound) {
  const F32 d;
  const I32 di;
  const Floats limit = hn::Set(d, bound);
  auto low = hn::Zero(di), high = hn::Zero(di);
  const auto one = hn::Set(di, 1);
  int32_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    low = hn::Add(low, hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(hn::LoadU(d, scores + i), limit)), one));
    high = hn::Add(high, hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(hn::LoadU(d, scores + i + kWidth), limit)), one));
  }
  if (i < n) low = hn::Add(low, hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(hn::LoadU(d, scores + i), limit)), one));
  return hn::GetLane(hn::SumOfLanes(di, hn::Add(low, high)));
}

// Describes the k best: those above `bound`, then the first ones equal to it until there are k.
struct Cut {
  float bound = 0.0F;
  int32_t above = 0;
};

// By bisection over the 32 bits of a float; stops as soon as k to k + `slack` scores lie above a bound.
// (std::nth_element on 64-bit keys took five to nine times as long, from 140 scores to 8192.)
inline Cut find_cut(const float* scores, int32_t n, int32_t k, int32_t slack = 0) {
  const F32 d;
  Floats least = hn::LoadU(d, scores), most = least;
  for (int32_t i = kWidth; i < n; i += kWidth) {
    least = hn::Min(least, hn::LoadU(d, scores + i));
    most = hn::Max(most, hn::LoadU(d, scores + i));
  }
  int32_t low = ordered(hn::GetLane(hn::MinOfLanes(d, least))), high = ordered(hn::GetLane(hn::MaxOfLanes(d, most)));
  --low;  // at least k above; none above high
  int32_t above = 0;
  while (int64_t{high} - low > 1) {
    const auto middle = static_cast<int32_t>((int64_t{low} + high) >> 1);
    const int32_t count = count_above(scores, n, unordered(middle));
    if (count >= k && count <= k + slack) return {unordered(middle), count};
    if (count > k) {
      low = middle;
    } else {
      high = middle;
      above = count;
    }
  }
  return {unordered(high), above};
}

// The first n lanes of a mask that are set.
inline hn::Mask<F32> first_of(hn::Mask<F32> mask, int32_t n) {
  const F32 d;
  HWY_ALIGN float lanes[kWidth];
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, 1.0F)), d, lanes);
  for (float& lane : lanes) {
    if (lane != 0.0F && --n < 0) lane = 0.0F;
  }
  return hn::Ne(hn::Load(d, lanes), hn::Zero(d));
}

// Pads to whole vectors with the worst possible scores. Returns the padded number.
HWY_INLINE int32_t pad_scores(float* scores, int32_t n) {
  for (; n % kWidth != 0; ++n) scores[n] = -std::numeric_limits<float>::infinity();
  return n;
}

inline float near_best(float* scores, int32_t n, int32_t k) {
  return find_cut(scores, pad_scores(scores, n), k, k / 8).bound;
}

inline float keep_best(float* scores, uint32_t* places, int32_t n, int32_t k) {
  const F32 d;
  const U32 du;
  const int32_t padded = pad_scores(scores, n);
  const Cut cut = find_cut(scores, padded, k);
  const Floats bound = hn::Set(d, cut.bound);
  int32_t kept = 0, ties = k - cut.above;
  Floats worst = hn::Set(d, std::numeric_limits<float>::infinity());
  for (int32_t i = 0; i < padded; i += kWidth) {
    const Floats score = hn::LoadU(d, scores + i);
    const auto place = hn::LoadU(du, places + i);
    auto keep = hn::Gt(score, bound);
    if (ties > 0) {
      const auto equal = hn::Eq(score, bound);
      const auto equals = static_cast<int32_t>(hn::CountTrue(d, equal));
      if (equals <= ties) {
        keep = hn::Or(keep, equal);
        ties -= equals;
      } else {
        keep = hn::Or(keep, first_of(equal, ties));
        ties = 0;
      }
    }
    worst = hn::Min(worst, hn::IfThenElse(keep, score, worst));
    kept += store_kept(keep, score, place, scores + kept, places + kept);
  }
  return hn::GetLane(hn::MinOfLanes(d, worst));
}

// Adds 1 where the mask is set.
HWY_INLINE hn::Vec<I32> count_where(hn::Mask<F32> mask, hn::Vec<I32> count) {
  const I32 di;
#if HWY_TARGET == HWY_AVX3  // one instruction instead of a select and an add
  return hn::IfThenElse(hn::RebindMask(di, mask), hn::Add(count, hn::Set(di, 1)), count);
#else
  return hn::Sub(count, hn::VecFromMask(di, hn::RebindMask(di, mask)));
#endif
}

// Ranks of the scores [first, first + kCount * kWidth) among all n.
template <int kCount>
HWY_INLINE void rank_vectors(const float* scores, int32_t n, int32_t first, uint32_t* ranks) {
  const F32 d;
  const I32 di;
  Floats score[kCount];
  hn::Vec<I32> above[kCount];
  for (int v = 0; v < kCount; ++v) score[v] = hn::LoadU(d, scores + first + v * kWidth);
  for (int v = 0; v < kCount; ++v) above[v] = hn::Zero(di);
  for (int32_t i = 0; i < n; ++i) {
    const Floats other = hn::Set(d, scores[i]);
    for (int v = 0; v < kCount; ++v) above[v] = count_where(hn::Gt(other, score[v]), above[v]);
  }
  for (int v = 0; v < kCount; ++v) hn::StoreU(hn::BitCast(U32(), above[v]), U32(), ranks + first + v * kWidth);
}

inline void rank(const float* scores, int32_t n, uint32_t* ranks) {
  int32_t first = 0;
  for (; first + 3 * kWidth < n; first += 4 * kWidth) rank_vectors<4>(scores, n, first, ranks);
  for (; first < n; first += kWidth) rank_vectors<1>(scores, n, first, ranks);
}

inline void write_each(const Chosen& chosen, const int64_t* next, const BeamsOut& out) {
  for (int32_t m = 0; m < chosen.count; ++m) {
    const uint32_t number = chosen.order[m], place = chosen.places[number];
    out.scores[m] = chosen.scores[number];
    out.parents[m] = out.history_parents[m] = beam_of(place, out.number_bits);
    out.tokens[m] = out.history_tokens[m] = static_cast<int32_t>(number_of(place, out.number_bits));
    out.states[m] = next[out.parents[m]];
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// Gathers a vector of beams at a time, because scattering takes one store per number. The last vector begins early
// enough to be whole: a masked store would overlap the next slot's beams, whose loads come next and would wait for it.
inline void write_chosen(const Chosen& chosen, const int64_t* next, const BeamsOut& out) {
  const F32 d;
  const I32 di;
  const U32 du;
  const hn::Half<I32> half;
  const hn::Repartition<int64_t, I32> dw;
  if (chosen.count < kWidth) return write_each(chosen, next, out);
  for (int32_t m = 0; m < chosen.count; m += kWidth) {
    const int32_t at = std::min(m, chosen.count - kWidth);
    const auto number = hn::BitCast(di, hn::LoadU(du, chosen.order + at));
    const auto place = hn::GatherIndex(du, chosen.places, number);
    const auto parent = hn::BitCast(di, hn::ShiftRightSame(place, out.number_bits));
    const auto token = hn::BitCast(di, hn::And(place, hn::Set(du, (1U << out.number_bits) - 1)));
    hn::StoreU(hn::GatherIndex(d, chosen.scores, number), d, out.scores + at);
    for (int32_t* parents : {out.parents, out.history_parents}) hn::StoreU(parent, di, parents + at);
    for (int32_t* tokens : {out.tokens, out.history_tokens}) hn::StoreU(token, di, tokens + at);
    const auto low = hn::PromoteTo(dw, hn::LowerHalf(half, parent)),
               high = hn::PromoteTo(dw, hn::UpperHalf(half, parent));
    hn::StoreU(hn::GatherIndex(dw, next, low), dw, out.states + at);
    hn::StoreU(hn::GatherIndex(dw, next, high), dw, out.states + at + kWidth / 2);
  }
}

#else

inline void write_chosen(const Chosen& chosen, const int64_t* next, const BeamsOut& out) {
  write_each(chosen, next, out);
}

#endif

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
