// Rows of which a few children are all that matters: their codes, sums and candidates, many rows in one call.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_SHORT_LISTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_SHORT_LISTS_INL
#undef SIDBEAM_CPU_SHORT_LISTS_INL
#else
#define SIDBEAM_CPU_SHORT_LISTS_INL
#endif

#include <algorithm>
#include <cmath>

#include "backend/cpu/append-inl.h"
#include "backend/cpu/lists-inl.h"
#include "backend/cpu/log_sum_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

static_assert(kShortStride == kFoldedLanes && kShortStride % kWidth == 0);
inline constexpr int kShortVectors = kShortStride / kWidth;

template <class Token>
inline int32_t copy_lists(const LevelView& level, const NodeRow* rows, int32_t n, uint32_t* tokens, ShortList* lists) {
  const U32 du;
  const auto* all = static_cast<const Token*>(level.tokens.data);
  const auto end = hn::Set(du, level.codes);
  for (int32_t i = 0; i < n; ++i) {
    const Row row = rows[i].row;
    if (row.count > kMostShort) return i;
    const auto count = static_cast<int32_t>(row.count);
    for (int32_t at = 0; at < count; at += kWidth) {
      const auto codes = load_codes(all, row.begin + static_cast<uint64_t>(at), level.edges);
      hn::StoreU(codes, du, tokens + i * kShortStride + at);
      const auto above = hn::AndNot(hn::RebindMask(F32(), hn::Lt(codes, end)), lanes_of(count, at));
      if (HWY_UNLIKELY(!hn::AllFalse(F32(), above))) return i;
    }
    lists[i].count = count;
  }
  return n;
}

inline int32_t copy_short(const LevelView& view, const NodeRow* rows, int32_t n, uint32_t* tokens, ShortList* lists) {
  const LevelView level = view;  // a copy, since the compiler must assume that stores change it
  return level.tokens.width == 2 ? copy_lists<uint16_t>(level, rows, n, tokens, lists)
                                 : copy_lists<uint32_t>(level, rows, n, tokens, lists);
}

#if HWY_TARGET != HWY_SCALAR
// fold() of the lanes of a vector.
template <class D>
HWY_INLINE double fold_doubles(D d, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(d) > 2) {
    const hn::Half<D> half;
    return fold_doubles(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  } else {
    return hn::GetLane(hn::Add(x, hn::Shuffle01(x)));
  }
}
#endif

// fold() of kFoldedLanes lanes, in double.
HWY_INLINE double fold_in_double(const Floats* lane) {
#if HWY_TARGET == HWY_SCALAR
  double total[kFoldedLanes];
  for (int i = 0; i < kFoldedLanes; ++i) total[i] = static_cast<double>(hn::GetLane(lane[i]));
  return fold<kFoldedLanes>(total);
#else
  const F64 d;
  const hn::Half<F32> half;
  Doubles total[2 * kShortVectors];
  for (int v = 0; v < kShortVectors; ++v) {
    total[2 * v] = hn::PromoteTo(d, hn::LowerHalf(half, lane[v]));
    total[2 * v + 1] = hn::PromoteTo(d, hn::UpperHalf(half, lane[v]));
  }
  for (int n = kShortVectors; n > 0; n /= 2)
    for (int v = 0; v < n; ++v) total[v] = hn::Add(total[v], total[v + n]);
  return fold_doubles(d, total[0]);
#endif
}

// sum_near() of fewer than kShortStride numbers; false where it would move the exponent or finds none. Of its 64 lanes
// those without a number hold the term of `padding`, which a lane without one here holds as well.
HWY_INLINE bool sum_list(const float* x, int32_t n, RowSum& out) {
  const F32 d;
  if (!(std::fabs(x[0]) <= kHuge)) return false;
  const int32_t exponent = exponent_near(x[0]);
  const Window window = window_of(exponent);
  const Floats none = hn::Set(d, -kInfinity);
  Floats lane[kShortVectors];
  auto within = hn::Le(none, window.limit);
  for (int v = 0; v < kShortVectors; ++v) {
    const Floats each = hn::IfThenElse(lanes_of(n, v * kWidth), hn::LoadU(d, x + v * kWidth), none);
    within = hn::And(within, hn::Le(each, window.limit));
    const Floats raised = raise(each, window.floor);
    lane[v] = add_exp(window, raised, step_of(window, raised), hn::Zero(d));
  }
  if (HWY_UNLIKELY(!hn::AllTrue(d, within))) return false;
  HWY_ALIGN float folded[kShortStride];
  for (int v = 0; v < kShortVectors; ++v) hn::Store(lane[v], d, folded + v * kWidth);
  const Floats padding = hn::Set(d, folded[kShortStride - 1]);
  for (Floats& each : lane) each = hn::Add(hn::Add(each, padding), hn::Add(padding, padding));
  out.sum = fold_in_double(lane);
  out.exponent = exponent;
  out.whole = false;
  return true;
}

inline void sum_short(ShortList* lists, int32_t n) {
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(F64()));
  RowSum sums[kLanes] = {};
  double means[kLanes];
  LogSum logs[kLanes];
  for (int32_t first = 0; first < n; first += kLanes) {
    const int32_t count = std::min(kLanes, n - first);
    for (int32_t i = 0; i < kLanes; ++i) {
      const ShortList& list = lists[std::min(first + i, n - 1)];
      means[i] = mean_of_columns(list.count);
      sums[i].whole = list.count == 0 || !sum_list(list.x, list.count, sums[i]);
    }
    log_each(sums, count, hn::LoadU(F64(), means), logs);
    for (int32_t i = 0; i < count; ++i) {
      ShortList& list = lists[first + i];
      if (HWY_UNLIKELY(sums[i].whole)) {
        PartialSum sum;
        sum_exp({list.x, SIDBEAM_DTYPE_F32}, list.count, nullptr, sum);
        logs[i] = log_of(sum);
      }
      list.score.normalizer = logs[i];
    }
  }
}

inline Appended append_short(const ShortList* lists, const uint32_t* tokens, int32_t from, int32_t n, float threshold,
                             const Room& room) {
  const F32 d;
  const U32 du;
  const Floats bound = hn::Set(d, threshold);
  int32_t kept = 0, i = from;
  for (; i < n && kept + kShortStride <= room.count; ++i) {
    const ShortList& list = lists[i];
    if (list.score.clamp && list.score.score <= threshold) continue;
    for (int32_t at = 0; at < list.count; at += kWidth) {
      const Floats score = score_of(list.score, hn::LoadU(d, list.x + at));
      const auto keep = hn::And(hn::Gt(score, bound), lanes_of(list.count, at));
      const auto place = hn::Or(hn::Set(du, list.score.place_base), hn::LoadU(du, tokens + i * kShortStride + at));
      kept += store_kept(keep, score, place, room.scores + kept, room.places + kept);
    }
  }
  return {i < n ? i : -1, kept};
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
