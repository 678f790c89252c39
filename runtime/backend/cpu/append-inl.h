// From x to candidates: log-prob, score, threshold, compaction, in registers.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_APPEND_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_APPEND_INL
#undef SIDBEAM_CPU_APPEND_INL
#else
#define SIDBEAM_CPU_APPEND_INL
#endif

#include "backend/cpu/kernels.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// fl(score + log-prob), log-prob = (x - ref) - rest, at most 0 where the normaliser was computed, and never -0.
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
  hn::StoreU(hn::Compress(score, keep), d, scores);
  hn::StoreU(hn::Compress(place, hn::RebindMask(du, keep)), du, places);
  return static_cast<int32_t>(hn::CountTrue(d, keep));
}

inline int32_t append(const RowScore& row, float threshold, const float* x, const uint32_t* tokens,
                      uint32_t first_token, int32_t n, float* scores, uint32_t* places) {
  const F32 d;
  const U32 du;
  const Floats bound = hn::Set(d, threshold);
  const auto base = hn::Set(du, row.place_base);
  int32_t kept = 0, i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Floats score = score_of(row, hn::LoadU(d, x + i));
    const auto keep = hn::Gt(score, bound);
    if (hn::AllFalse(d, keep)) continue;
    const auto token =
        tokens != nullptr ? hn::LoadU(du, tokens + i) : hn::Iota(du, first_token + static_cast<uint32_t>(i));
    kept += store_kept(keep, score, hn::Or(base, token), scores + kept, places + kept);
  }
  for (; i < n; ++i) {
    float log_prob = (x[i] - row.normalizer.ref) - row.normalizer.rest;
    if (row.clamp) log_prob = log_prob < 0.0F ? log_prob : 0.0F;
    const float score = row.score + (log_prob + 0.0F);
    if (!(score > threshold)) continue;
    scores[kept] = score;
    places[kept] = row.place_base | (tokens != nullptr ? tokens[i] : first_token + static_cast<uint32_t>(i));
    ++kept;
  }
  return kept;
}

// Candidates of up to 64 columns, `word` says which of them count; `x` is readable for 64.
HWY_INLINE int32_t append_word(const RowScore& row, float threshold, const float* x, uint64_t word,
                               uint32_t first_token, float* scores, uint32_t* places) {
  const F32 d;
  const U32 du;
  const Floats bound = hn::Set(d, threshold);
  int32_t kept = 0;
  for (int i = 0; i < 64; i += kWidth) {
    const uint64_t bits = word >> i & ((uint64_t{1} << kWidth) - 1);
    if (bits == 0) continue;
    const Floats score = score_of(row, hn::LoadU(d, x + i));
    const auto allowed = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    const auto keep = hn::And(allowed, hn::Gt(score, bound));
    if (hn::AllFalse(d, keep)) continue;
    const auto place = hn::Or(hn::Set(du, row.place_base), hn::Iota(du, first_token + static_cast<uint32_t>(i)));
    kept += store_kept(keep, score, place, scores + kept, places + kept);
  }
  return kept;
}

inline int32_t append_masked(const RowScore& row, float threshold, const float* x, const uint64_t* mask,
                             uint32_t first_token, int32_t n, float* scores, uint32_t* places) {
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i += 64) {
    const uint64_t word = mask[i / 64];
    const auto token = first_token + static_cast<uint32_t>(i);
    if (n - i >= 64) {
      kept += append_word(row, threshold, x + i, word, token, scores + kept, places + kept);
    } else {
      HWY_ALIGN float rest[64] = {};
      std::memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(float));
      kept +=
          append_word(row, threshold, rest, word & ((uint64_t{1} << (n - i)) - 1), token, scores + kept, places + kept);
    }
  }
  return kept;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
