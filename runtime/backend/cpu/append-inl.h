// From x to candidates: log-prob, score, threshold, compaction, in registers.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_APPEND_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_APPEND_INL
#undef SIDBEAM_CPU_APPEND_INL
#else
#define SIDBEAM_CPU_APPEND_INL
#endif

#include "backend/cpu/front-inl.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// fl(score + log-prob), log-prob = (x - ref) - rest. It is at most 0 if the normaliser was computed, and never -0.
HWY_INLINE Floats score_of(const RowScore& row, Floats x) {
  const F32 d;
  Floats log_prob = hn::Sub(hn::Sub(x, hn::Set(d, row.normalizer.ref)), hn::Set(d, row.normalizer.rest));
  if (row.clamp) log_prob = hn::Min(log_prob, hn::Zero(d));
  return hn::Add(hn::Set(d, row.score), hn::Add(log_prob, hn::Zero(d)));
}

// Stores the lanes of `keep` at the front of the outputs. A compressing store to memory is microcode on Zen 4: compress
// in the register, store it whole.
HWY_INLINE int32_t store_kept(hn::Mask<F32> keep, Floats score, hn::Vec<U32> place, float* scores, uint32_t* places) {
  const F32 d;
  const U32 du;
  const Front front = front_of(keep);
  hn::StoreU(to_front(front, score), d, scores);
  hn::StoreU(to_front(front, place), du, places);
  return static_cast<int32_t>(hn::CountTrue(d, keep));
}

inline Appended append(const RowScore& row, float threshold, const float* x, const uint32_t* tokens, int32_t from,
                       int32_t n, const Room& room) {
  const F32 d;
  const U32 du;
  const Floats bound = hn::Set(d, threshold);
  const auto base = hn::Set(du, row.place_base);
  int32_t kept = 0, i = from;
  for (; i + kWidth <= n && kept + kWidth <= room.count; i += kWidth) {
    const Floats score = score_of(row, hn::LoadU(d, x + i));
    const auto keep = hn::Gt(score, bound);
    if (hn::AllFalse(d, keep)) continue;
    kept += store_kept(keep, score, hn::Or(base, hn::LoadU(du, tokens + i)), room.scores + kept, room.places + kept);
  }
  for (; i < n && kept < room.count; ++i) {
    const float score = score_of_one(row, x[i]);
    room.scores[kept] = score;
    room.places[kept] = row.place_base | tokens[i];
    kept += score > threshold ? 1 : 0;
  }
  return {i < n ? i : -1, kept};
}

// Codes are read, and rejected, a vector at a time as long as a whole vector may be read.
template <class Token>
inline Appended append_tokens(const RowScore& row, float threshold, const float* data, const Token* tokens,
                              const TokenList& list, uint32_t codes, int32_t from, const Room& room) {
  const F32 d;
  const U32 du;
  const I32 di;
  const hn::Rebind<Token, F32> dt;
  const Floats bound = hn::Set(d, threshold);
  const auto base = hn::Set(du, row.place_base), end = hn::Set(du, codes), last = hn::Set(du, codes - 1);
  const int32_t n = list.count;
  int32_t kept = 0, i = from;
  for (; i < n && i + kWidth <= list.readable && kept + kWidth <= room.count; i += kWidth) {
    hn::Vec<U32> token;
    if constexpr (sizeof(Token) == 4) {
      token = hn::LoadU(dt, tokens + i);
    } else {
      token = hn::PromoteTo(du, hn::LoadU(dt, tokens + i));
    }
    const Floats score = score_of(row, hn::GatherIndex(d, data, hn::BitCast(di, hn::Min(token, last))));
    auto keep = hn::And(hn::Gt(score, bound), hn::RebindMask(d, hn::Lt(token, end)));
    if (i + kWidth > n) keep = hn::And(keep, hn::FirstN(d, static_cast<size_t>(n - i)));
    if (hn::AllFalse(d, keep)) continue;
    kept += store_kept(keep, score, hn::Or(base, token), room.scores + kept, room.places + kept);
  }
  for (; i < n && kept < room.count; ++i) {
    if (tokens[i] >= codes) continue;
    const float score = score_of_one(row, data[tokens[i]]);
    room.scores[kept] = score;
    room.places[kept] = row.place_base | tokens[i];
    kept += score > threshold ? 1 : 0;
  }
  return {i < n ? i : -1, kept};
}

inline Appended append_list(const RowScore& row, float threshold, const float* data, const TokenList& list,
                            uint32_t codes, int32_t from, const Room& room) {
  return list.width == 2
             ? append_tokens(row, threshold, data, static_cast<const uint16_t*>(list.data), list, codes, from, room)
             : append_tokens(row, threshold, data, static_cast<const uint32_t*>(list.data), list, codes, from, room);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
