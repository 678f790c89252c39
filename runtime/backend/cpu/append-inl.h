// From x to candidates: log-prob, score, threshold, compaction, in registers.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_APPEND_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_APPEND_INL
#undef SIDBEAM_CPU_APPEND_INL
#else
#define SIDBEAM_CPU_APPEND_INL
#endif

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rows-inl.h"

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

// An x such that neither it nor a smaller one has a score above the threshold. The true bound lies within a few
// roundings of the guess; where even that fails, -inf, which lets every block through.
inline float x_bound(const RowScore& row, float threshold) {
  const double ref = row.normalizer.ref, guess = static_cast<double>(threshold) - row.score + ref + row.normalizer.rest;
  const double magnitude = std::fabs(threshold) + std::fabs(row.score) + std::fabs(ref);
  const auto bound = static_cast<float>(guess - magnitude * 0x1p-21);
  return score_of_one(row, bound) <= threshold ? bound : -std::numeric_limits<float>::infinity();
}

// 64 bits of a mask from bit `first` on, which may lie before the mask; bits beyond [0, n) are 0.
HWY_INLINE uint64_t mask_word(const uint64_t* mask, int64_t first, int64_t n) {
  uint64_t word = ~uint64_t{0};
  if (mask != nullptr) {
    const int64_t at = first >> 6;
    const auto shift = static_cast<unsigned>(first & 63);
    word = at >= 0 ? mask[at] >> shift : 0;
    if (shift != 0 && (at + 1) * 64 < n) word |= mask[at + 1] << (64 - shift);
  }
  if (first < 0) word &= ~uint64_t{0} << -first;
  if (n - first < 64) word &= n <= first ? 0 : (uint64_t{1} << (n - first)) - 1;
  return word;
}

// Candidates among the 64 columns at `data`, those whose bit in `word` is set; the first stands for `token`.
template <int32_t kDtype>
HWY_INLINE int32_t append_block(const RowScore& row, float threshold, const void* data, uint64_t word, int64_t token,
                                float* scores, uint32_t* places) {
  constexpr int kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const F32 d;
  const U32 du;
  const Floats bound = hn::Set(d, threshold);
  int32_t kept = 0;
  for (int i = 0; i < kBlock; i += kWidth) {
    const uint64_t bits = word >> i & ((uint64_t{1} << kWidth) - 1);
    if (bits == 0) continue;
    const Floats score = score_of(row, load_vector<kDtype>(static_cast<const char*>(data) + i * kBytes));
    const auto keep = hn::And(hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits)), hn::Gt(score, bound));
    if (hn::AllFalse(d, keep)) continue;
    const auto place = hn::Or(hn::Set(du, row.place_base), hn::Iota(du, static_cast<uint32_t>(token + i)));
    kept += store_kept(keep, score, place, scores + kept, places + kept);
  }
  return kept;
}

// The first block from `block` on in which an x above `bound` may be; `blocks` where there is none.
HWY_INLINE int64_t next_block(const float* maxima, float bound, int64_t block, int64_t blocks) {
  const F32 d;
  const Floats limit = hn::Set(d, bound);
  for (; block + 4 <= blocks; block += 4) {
    const float* at = maxima + block * kWidth;
    const Floats low = hn::Max(hn::LoadU(d, at), hn::LoadU(d, at + kWidth));
    const Floats high = hn::Max(hn::LoadU(d, at + 2 * kWidth), hn::LoadU(d, at + 3 * kWidth));
    if (!hn::AllFalse(d, hn::Gt(hn::Max(low, high), limit))) break;
  }
  for (; block < blocks; ++block)
    if (!hn::AllFalse(d, hn::Gt(hn::LoadU(d, maxima + block * kWidth), limit))) break;
  return block;
}

template <int32_t kDtype>
inline Appended append_slice_of(const RowScore& row, float threshold, const Slice& slice, int32_t from,
                                const Room& room) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const int64_t origin = slice.maxima != nullptr ? 0 : slice.first_column;
  const int64_t end = slice.first_column + slice.codes, blocks = (end - origin + kBlock - 1) / kBlock;
  const float bound = slice.maxima != nullptr ? x_bound(row, threshold) : 0.0F;
  int32_t kept = 0;
  int64_t block = std::max<int64_t>(from, (slice.first_column - origin) / kBlock);
  for (; block < blocks; ++block) {
    if (slice.maxima != nullptr) block = next_block(slice.maxima, bound, block, blocks);
    if (block == blocks || kept + kBlock > room.count) break;
    const int64_t column = origin + block * kBlock, token = column - slice.first_column;
    const uint64_t word = mask_word(slice.mask, token, slice.codes);
    const char* data = static_cast<const char*>(slice.elements.data) + column * kBytes;
    HWY_ALIGN char padded[kBlock * kBytes];
    if (column + kBlock > slice.columns) {
      pad_block<kDtype>(data, slice.columns - column, padded);
      data = padded;
    }
    kept += append_block<kDtype>(row, threshold, data, word, token, room.scores + kept, room.places + kept);
  }
  return {block < blocks ? static_cast<int32_t>(block) : -1, kept};
}

inline Appended append_slice(const RowScore& row, float threshold, const Slice& slice, int32_t from, const Room& room) {
  if (slice.elements.dtype == SIDBEAM_F32) return append_slice_of<SIDBEAM_F32>(row, threshold, slice, from, room);
  if (slice.elements.dtype == SIDBEAM_F16) return append_slice_of<SIDBEAM_F16>(row, threshold, slice, from, room);
  return append_slice_of<SIDBEAM_BF16>(row, threshold, slice, from, room);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
