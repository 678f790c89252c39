// From x to candidates: log-prob, score, threshold, compaction, in registers.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_APPEND_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_APPEND_INL
#undef SIDBEAM_CPU_APPEND_INL
#else
#define SIDBEAM_CPU_APPEND_INL
#endif

#include <algorithm>
#include <type_traits>

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

HWY_INLINE uint64_t lanes_above(Floats x, Floats bound) {
  uint64_t lanes = 0;
  hn::StoreMaskBits(F32(), hn::Gt(x, bound), reinterpret_cast<uint8_t*>(&lanes));
  return lanes;
}

// Bit i: column i of the block at `data` is above `bound`.
template <int32_t kDtype>
HWY_INLINE uint64_t columns_above(const void* data, float bound) {
  constexpr int kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const Floats limit = hn::Set(F32(), bound);
  uint64_t above = 0;
  for (int v = 0; v < kVectors; ++v)
    above |= lanes_above(load_vector<kDtype>(static_cast<const char*>(data) + v * kWidth * kBytes), limit)
             << v * kWidth;
  return above;
}

// Candidates among the 64 columns at `data`, those whose bit in `word` is set; the first stands for `token`.
template <int32_t kDtype>
HWY_INLINE int32_t append_block(const RowScore& row, float threshold, const void* data, uint64_t word, int64_t token,
                                float* scores, uint32_t* places) {
  constexpr int kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const F32 d;
  const U32 du;
  const Floats limit = hn::Set(d, threshold);
  int32_t kept = 0;
  for (int v = 0; v < kVectors; ++v) {
    const uint64_t bits = word >> v * kWidth & ((uint64_t{1} << kWidth) - 1);
    if (bits == 0) continue;
    const Floats score = score_of(row, load_vector<kDtype>(static_cast<const char*>(data) + v * kWidth * kBytes));
    const auto keep = hn::And(hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits)), hn::Gt(score, limit));
    if (hn::AllFalse(d, keep)) continue;
    const auto place = hn::Or(hn::Set(du, row.place_base), hn::Iota(du, static_cast<uint32_t>(token + v * kWidth)));
    kept += store_kept(keep, score, place, scores + kept, places + kept);
  }
  return kept;
}

// Columns of a block whose maximum over the vectors of the block lies in a lane of `lanes`.
template <int32_t kDtype>
HWY_INLINE uint64_t columns_of_lanes(uint64_t lanes) {
  if constexpr (kDtype == SIDBEAM_BF16) {  // unpacked out of order
    return lanes != 0 ? ~uint64_t{0} : 0;
  } else {
    uint64_t spread = 0;
    for (int i = 0; i < kBlock; i += kWidth) spread |= uint64_t{1} << i;
    return lanes * spread;
  }
}

// Blocks that may hold a candidate.
struct Blocks {
  static constexpr int32_t kMost = 64;
  int32_t count = 0;
  int32_t block[kMost + 4];
};

// Finds them from `block` on; returns where it stopped. The branch is taken by groups of four and falls one way for most
// rows; within a group nothing branches.
template <int32_t kDtype>
HWY_INLINE int64_t find_blocks(const Slice& slice, float bound, int64_t block, int64_t end, Blocks& found) {
  const F32 d;
  const Floats limit = hn::Set(d, bound);
  for (found.count = 0; block < end && found.count < Blocks::kMost; block += kGroup) {
    const float* maxima = slice.maxima + block * kWidth;
    const Floats m0 = hn::LoadU(d, maxima), m1 = hn::LoadU(d, maxima + kWidth);
    const Floats m2 = hn::LoadU(d, maxima + 2 * kWidth), m3 = hn::LoadU(d, maxima + 3 * kWidth);
    if (hn::AllFalse(d, hn::Gt(hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)), limit))) continue;
    const uint64_t lanes[4] = {lanes_above(m0, limit), lanes_above(m1, limit), lanes_above(m2, limit),
                               lanes_above(m3, limit)};
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t token = (block + i) * kBlock - slice.first_column;
      const uint64_t valid = token < slice.codes ? mask_word(slice.mask, token, slice.codes) : 0;
      found.block[found.count] = static_cast<int32_t>(block + i);
      found.count += (valid & columns_of_lanes<kDtype>(lanes[i])) != 0 ? 1 : 0;
    }
  }
  return std::min(block, end);
}

// A block of a slice: the address of its columns, in `padded` where it reaches beyond the row.
template <int32_t kDtype>
HWY_INLINE const void* block_data(const Slice& slice, int64_t column, char* padded) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const char* data = static_cast<const char*>(slice.elements.data) + column * kBytes;
  if (column + kBlock <= slice.columns) return data;
  pad_block<kDtype>(data, slice.columns - column, padded);
  return padded;
}

// Codes of a slice whose x is above a bound, as yet unscored.
struct Hits {
  static constexpr int32_t kMost = 256;
  int32_t count = 0;
  uint32_t tokens[kMost + kBlock];
  float x[kMost + kBlock];
};

// Writes the tokens of a word's bits. Mostly there are a few: four are written whatever their number, so that no branch
// hangs on it.
HWY_INLINE void add_hits(uint64_t word, uint32_t token, Hits& hits) {
  const int32_t count = static_cast<int32_t>(hwy::PopCount(word));
  uint32_t* to = hits.tokens + hits.count;
  int32_t written = 0;
  do {
    for (const int32_t end = written + 4; written < end; ++written, word &= word - 1)
      to[written] = token + static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(word | uint64_t{1} << 63));
  } while (HWY_UNLIKELY(written < count));
  hits.count += count;
}

template <int32_t kDtype>
inline Appended append_slice_of(const RowScore& row, float threshold, const Slice& slice, int32_t from,
                                const Room& room) {
  using Element =
      std::conditional_t<kDtype == SIDBEAM_F32, float, std::conditional_t<kDtype == SIDBEAM_F16, F16, Bf16>>;
  const auto* elements = static_cast<const Element*>(slice.elements.data) + slice.first_column;
  const int64_t origin = slice.maxima != nullptr ? 0 : slice.first_column;
  const int64_t end = (slice.first_column + slice.codes - origin + kBlock - 1) / kBlock;
  int64_t block = std::max<int64_t>(from, (slice.first_column - origin) / kBlock);
  const float bound = x_bound(row, threshold);
  HWY_ALIGN char padded[kBlock * sizeof(Element)];
  const auto append_whole = [&](int64_t column, int32_t kept) {
    const int64_t token = column - slice.first_column;
    return append_block<kDtype>(row, threshold, block_data<kDtype>(slice, column, padded),
                                mask_word(slice.mask, token, slice.codes), token, room.scores + kept,
                                room.places + kept);
  };
  int32_t kept = 0;
  if (slice.maxima == nullptr || !(bound > -std::numeric_limits<float>::infinity())) {
    for (; block < end && kept + kBlock <= room.count; ++block) kept += append_whole(origin + block * kBlock, kept);
    return {block < end ? static_cast<int32_t>(block) : -1, kept};
  }
  Blocks found;
  block = find_blocks<kDtype>(slice, bound, block, end, found);
  Hits hits;
  int32_t i = 0;
  for (; i < found.count && hits.count + kBlock <= std::min(room.count, Hits::kMost); ++i) {
    const int64_t column = int64_t{found.block[i]} * kBlock, token = column - slice.first_column;
    const void* data = block_data<kDtype>(slice, column, padded);
    const uint64_t above = columns_above<kDtype>(data, bound);
    add_hits(above & mask_word(slice.mask, token, slice.codes), static_cast<uint32_t>(token), hits);
  }
  for (int32_t h = 0; h < hits.count; ++h) hits.x[h] = float_of(elements[hits.tokens[h]]);
  kept = append(row, threshold, hits.x, hits.tokens, 0, hits.count, room).kept;
  if (i < found.count) return {found.block[i], kept};
  return {block < end ? static_cast<int32_t>(block) : -1, kept};
}

inline Appended append_slice(const RowScore& row, float threshold, const Slice& slice, int32_t from, const Room& room) {
  if (slice.elements.dtype == SIDBEAM_F32) return append_slice_of<SIDBEAM_F32>(row, threshold, slice, from, room);
  if (slice.elements.dtype == SIDBEAM_F16) return append_slice_of<SIDBEAM_F16>(row, threshold, slice, from, room);
  return append_slice_of<SIDBEAM_BF16>(row, threshold, slice, from, room);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
