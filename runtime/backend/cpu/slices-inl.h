// Candidates of slices. Several rows are scanned together, so that the loops over blocks and over hits are long and a
// branch is mispredicted once per batch instead of once per row.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_SLICES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_SLICES_INL
#undef SIDBEAM_CPU_SLICES_INL
#else
#define SIDBEAM_CPU_SLICES_INL
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/append-inl.h"
#include "backend/cpu/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// An x whose score, like that of every smaller x, is not above the threshold. The true bound lies within a few
// roundings of the guess; if the check fails all the same, the bound is -inf, which lets every block through.
inline float x_bound(const RowScore& row, float threshold) {
  const double ref = row.normalizer.ref, guess = static_cast<double>(threshold) - row.score + ref + row.normalizer.rest;
  const double magnitude = std::fabs(threshold) + std::fabs(row.score) + std::fabs(ref);
  const auto bound = static_cast<float>(guess - magnitude * 0x1p-21);
  return score_of_one(row, bound) <= threshold ? bound : -std::numeric_limits<float>::infinity();
}

// 64 bits of a slice's mask from code `first` on, which may be negative; bits outside the codes are 0.
HWY_INLINE uint64_t mask_word(const Slice& slice, int64_t first) {
  const int64_t codes = slice.codes;
  if (HWY_LIKELY(first >= 0 && first + 64 <= codes)) {
    if (slice.mask == nullptr) return ~uint64_t{0};
    if ((first & 63) == 0) return slice.mask[first >> 6];
  }
  uint64_t word = ~uint64_t{0};
  if (slice.mask != nullptr) {
    const int64_t at = first >> 6;
    const auto shift = static_cast<unsigned>(first & 63);
    word = at >= 0 && first < codes ? slice.mask[at] >> shift : 0;
    if (shift != 0 && (at + 1) * 64 < codes) word |= slice.mask[at + 1] << (64 - shift);
  }
  if (first < 0) word &= ~uint64_t{0} << -first;
  if (codes - first < 64) word &= codes <= first ? 0 : (uint64_t{1} << (codes - first)) - 1;
  return word;
}

HWY_INLINE uint64_t lanes_above(Floats x, Floats bound) {
  uint64_t lanes = 0;
  hn::StoreMaskBits(F32(), hn::Gt(x, bound), reinterpret_cast<uint8_t*>(&lanes));
  return lanes;
}

// kWidth bits for each of `kCount` vectors, those of vector v from bit v * kWidth on. A bit is set if its lane of
// load(v) is above `bound`.
template <int kCount, class Load>
HWY_INLINE uint64_t bits_above(Floats bound, const Load& load) {
#if HWY_TARGET == HWY_AVX3  // combined as masks, in half as many operations
  static_assert(kCount == 4);
  const auto above = [&](int v) { return hn::Gt(load(v), bound).raw; };
  return _mm512_kunpackd(_mm512_kunpackw(above(3), above(2)), _mm512_kunpackw(above(1), above(0)));
#else
  uint64_t bits = 0;
  for (int v = 0; v < kCount; ++v) bits |= lanes_above(load(v), bound) << v * kWidth;
  return bits;
#endif
}

// Bit i: column i of the block at `data` is above `bound`.
template <int32_t kDtype>
HWY_INLINE uint64_t columns_above(const void* data, float bound) {
  constexpr int kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  return bits_above<kVectors>(hn::Set(F32(), bound), [=](int v) {
    return load_vector<kDtype>(static_cast<const char*>(data) + v * kWidth * kBytes);
  });
}

// Appends the candidates among those of the 64 columns at `data` whose bit in `word` is set; the first column has the
// code `token`.
template <int32_t kDtype>
HWY_INLINE int32_t append_block(const RowScore& row, float threshold, const void* data, uint64_t word, int64_t token,
                                float* scores, uint32_t* places) {
  constexpr int kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
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

// The columns of a block that lie in the given lanes of its vectors.
template <int32_t kDtype>
HWY_INLINE uint64_t columns_of_lanes(uint64_t lanes) {
  if constexpr (kDtype == SIDBEAM_DTYPE_BF16) {  // unpacked out of order
    return lanes != 0 ? ~uint64_t{0} : 0;
  } else {
    uint64_t spread = 0;
    for (int i = 0; i < kBlock; i += kWidth) spread |= uint64_t{1} << i;
    return lanes * spread;
  }
}

// The address of a block's columns; a block that reaches beyond the row is copied to `padded`.
template <int32_t kDtype>
HWY_INLINE const void* block_data(const Slice& slice, int64_t column, char* padded) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  const char* data = static_cast<const char*>(slice.data) + column * kBytes;
  if (column + kBlock <= slice.columns) return data;
  pad_block<kDtype>(data, slice.columns - column, padded);
  return padded;
}

// The maxima of a group of blocks: its own, then those of its blocks.
HWY_INLINE const float* group_maxima(const float* maxima, int64_t group) {
  return maxima + group * (1 + kGroup) * kWidth;
}

// Used instead of a mask if all codes are valid.
inline constexpr uint64_t kAll[kGroup] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};

// What the loops over blocks need to know about a row.
struct BlockRow {
  const float* maxima;
  const char* data;
  const uint64_t* valid;  // the mask, if its words are aligned with the blocks; else kAll
  int32_t words;          // words of that mask; else 0
  int32_t valid_stride;   // words from one block to the next: 1, or 0 if all share kAll
  int32_t plain;          // leading blocks that lie within the row and are aligned with the words
  float bound;            // a block whose maxima are no higher holds no candidate
  int32_t first_block;
  int32_t first_group, end_group;
};

inline BlockRow block_row(const RowSlice& row, float threshold) {
  const Slice& slice = row.slice;
  const int64_t end_column = slice.first_column + slice.codes;
  const auto first = static_cast<int32_t>(slice.first_column / kBlock);
  const auto end = static_cast<int32_t>((end_column + kBlock - 1) / kBlock);
  const bool aligned = slice.first_column % kBlock == 0, masked = aligned && slice.mask != nullptr;
  const auto inside = static_cast<int32_t>(std::min(end_column, slice.columns) / kBlock);
  return {slice.maxima,   static_cast<const char*>(slice.data), masked ? slice.mask : kAll,    masked ? end - first : 0,
          masked ? 1 : 0, aligned ? inside - first : 0,         x_bound(row.score, threshold), first,
          first / kGroup, (end + kGroup - 1) / kGroup};
}

// Places in the rows of a batch: place_of(row, group or block). The bits suffice, however wide rows are: maxima,
// without which none are found, are kept of rows of at most so many columns (RowWorkspace).
static_assert((2 * int64_t{SIDBEAM_MAX_CODES} + kChunk) / kBlock < int64_t{1} << kNumberBits);
struct FoundPlaces {
  static constexpr int32_t kMost = 128;  // groups
  int32_t count = 0;
  uint32_t at[(kMost + 1) * kGroup];
};

// Finds the groups of blocks with a maximum above their row's bound. The test does not branch: with a fifth of the
// columns valid, every fourth group is found, which cannot be predicted.
inline SliceCursor find_groups(const BlockRow* rows, int32_t n, SliceCursor at, FoundPlaces& groups) {
  const F32 d;
  for (; at.row < n; at = {at.row + 1, 0}) {
    const BlockRow& row = rows[at.row];
    const Floats limit = hn::Set(d, row.bound);
    int32_t group = std::max(at.block / kGroup, row.first_group), count = groups.count;
    for (; group < row.end_group && count < FoundPlaces::kMost; ++group) {
      groups.at[count] = place_of(at.row, static_cast<uint32_t>(group));
      count += hn::AllFalse(d, hn::Gt(hn::LoadU(d, group_maxima(row.maxima, group)), limit)) ? 0 : 1;
    }
    groups.count = count;
    if (group < row.end_group) return {at.row, group * kGroup};
  }
  return at;
}

// Lists the blocks of a group, numbered from `first` on, that may hold a valid code; returns how many.
template <int32_t kDtype>
HWY_INLINE int32_t put_blocks(const float* maxima, Floats limit, const uint64_t* valid, uint32_t first, uint32_t* at) {
  const auto load = [=](int i) { return hn::LoadU(F32(), maxima + i * kWidth); };
#if HWY_TARGET == HWY_AVX3
  if constexpr (kDtype != SIDBEAM_DTYPE_BF16) {  // all at once, which is faster where most nodes are dense
    const auto bits = static_cast<long long>(bits_above<kGroup>(limit, load));
    const __m256i lanes = _mm256_cvtepu16_epi64(_mm_cvtsi64_si128(bits));
    __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(valid));
    words = _mm256_or_si256(words, _mm256_srli_epi64(words, 32));
    words = _mm256_or_si256(words, _mm256_srli_epi64(words, 16));  // bit w: whether a column of lane w is valid
    const __mmask8 found = _mm256_test_epi64_mask(words, lanes);
    const __m128i number = _mm_add_epi32(_mm_set1_epi32(static_cast<int32_t>(first)), _mm_setr_epi32(0, 1, 2, 3));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm_maskz_compress_epi32(found, number));
    return static_cast<int32_t>(hwy::PopCount(found));
  }
#endif
  int32_t count = 0;
  for (uint32_t i = 0; i < kGroup; ++i) {
    at[count] = first + i;
    count += (valid[i] & columns_of_lanes<kDtype>(lanes_above(load(static_cast<int>(i)), limit))) != 0 ? 1 : 0;
  }
  return count;
}

// Finds the blocks of the groups that may hold a valid code; some of them may lie beyond the slice.
template <int32_t kDtype>
HWY_INLINE void find_blocks(const BlockRow* rows, const FoundPlaces& groups, FoundPlaces& blocks) {
  int32_t count = 0;
  for (int32_t g = 0; g < groups.count; ++g) {
    const BlockRow& row = rows[beam_of(groups.at[g])];
    const uint32_t group = number_of(groups.at[g]);
    // The first and the last group may have blocks before or beyond the mask, for which there are no words to read.
    const int64_t word = int64_t{group} * kGroup - row.first_block;
    const uint64_t* valid = HWY_LIKELY(word >= 0 && word + kGroup <= row.words) ? row.valid + word : kAll;
    count += put_blocks<kDtype>(group_maxima(row.maxima, group) + kWidth, hn::Set(F32(), row.bound), valid,
                                groups.at[g] - group + group * kGroup, blocks.at + count);
  }
  blocks.count = count;
}

// Drops the blocks that are done already, since groups are always found whole. (Letting the search for blocks itself
// start anywhere cost 2 % of a step.)
inline HWY_NOINLINE void drop_before(const SliceCursor& begin, FoundPlaces& blocks) {
  const uint32_t first = place_of(begin.row, static_cast<uint32_t>(begin.block));
  const uint32_t* keep = std::lower_bound(blocks.at, blocks.at + blocks.count, first);
  blocks.count =
      static_cast<int32_t>(std::copy<const uint32_t*>(keep, blocks.at + blocks.count, blocks.at) - blocks.at);
}

// Valid codes above `bound` in a block in which the slice begins or ends, which is not aligned with the mask, or which
// lies outside the slice.
template <int32_t kDtype>
HWY_NOINLINE uint64_t codes_at_edge(const Slice& slice, int64_t block, float bound) {
  HWY_ALIGN char padded[kBlock * (kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2)];
  const int64_t column = block * kBlock, token = column - slice.first_column;
  if (token <= -kBlock || token >= slice.codes) return 0;
  return columns_above<kDtype>(block_data<kDtype>(slice, column, padded), bound) & mask_word(slice, token);
}

// Keeps the blocks that really hold valid codes above the bound, with one bit per code in `words`.
template <int32_t kDtype>
HWY_INLINE void find_codes(const RowSlice* rows, const BlockRow* block_rows, FoundPlaces& blocks, uint64_t* words) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  int32_t kept = 0;
  for (int32_t i = 0; i < blocks.count; ++i) {
    const uint32_t at = blocks.at[i];
    const BlockRow& row = block_rows[beam_of(at)];
    const auto block = static_cast<int32_t>(number_of(at)), own = block - row.first_block;
    const uint64_t word =
        HWY_LIKELY(own >= 0 && own < row.plain)
            ? columns_above<kDtype>(row.data + block * (kBlock * kBytes), row.bound) & row.valid[own * row.valid_stride]
            : codes_at_edge<kDtype>(rows[beam_of(at)].slice, block, row.bound);
    words[kept] = word;
    blocks.at[kept] = at;
    kept += word != 0 ? 1 : 0;
  }
  blocks.count = kept;
}

// Scores those codes while there is room; returns the number of blocks done.
template <class Element>
HWY_INLINE int32_t append_codes(const RowSlice* rows, float threshold, const FoundPlaces& blocks, const uint64_t* words,
                                const Room& room, int32_t& kept) {
  int32_t i = 0;
  for (; i < blocks.count && kept + kBlock <= room.count; ++i) {
    const RowSlice& row = rows[beam_of(blocks.at[i])];
    const int64_t column = int64_t{number_of(blocks.at[i])} * kBlock;
    const auto* elements = static_cast<const Element*>(row.slice.data) + column;
    const uint32_t place = row.score.place_base + static_cast<uint32_t>(column - row.slice.first_column);
    uint64_t word = words[i];
    do {  // mostly once
      const auto bit = static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(word));
      const float score = score_of_one(row.score, float_of(elements[bit]));
      room.scores[kept] = score;
      room.places[kept] = place + bit;
      kept += score > threshold ? 1 : 0;
      word &= word - 1;
    } while (word != 0);
  }
  return i;
}

// Scans a row without maxima or without a bound, block by block.
template <int32_t kDtype>
inline int32_t append_all_blocks(const RowSlice& row, float threshold, SliceCursor& next, const Room& room) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  HWY_ALIGN char padded[kBlock * kBytes];
  const Slice& slice = row.slice;
  int32_t kept = 0;
  int64_t column = std::max(int64_t{next.block} * kBlock, slice.first_column / kBlock * kBlock);
  const int64_t end = slice.first_column + slice.codes;
  for (; column < end && kept + kBlock <= room.count; column += kBlock) {
    const int64_t token = column - slice.first_column;
    kept += append_block<kDtype>(row.score, threshold, block_data<kDtype>(slice, column, padded),
                                 mask_word(slice, token), token, room.scores + kept, room.places + kept);
  }
  next.block = static_cast<int32_t>(column / kBlock);
  if (column >= end) next = {next.row + 1, 0};
  return kept;
}

template <int32_t kDtype, class Element>
inline int32_t append_slices_of(const RowSlice* rows, int32_t n, float threshold, SliceCursor& next, const Room& room) {
  BlockRow block_rows[kMostSlices];
  for (int32_t r = next.row; r < n; ++r) block_rows[r] = block_row(rows[r], threshold);
  const auto is_bounded = [&](const BlockRow& row) {
    return row.maxima != nullptr && row.bound > -std::numeric_limits<float>::infinity();
  };
  int32_t end = next.row;
  while (end < n && is_bounded(block_rows[end])) ++end;
  if (end == next.row) return append_all_blocks<kDtype>(rows[end], threshold, next, room);
  FoundPlaces groups, blocks;
  uint64_t words[sizeof blocks.at / sizeof blocks.at[0]];
  const SliceCursor beyond = find_groups(block_rows, end, next, groups);
  find_blocks<kDtype>(block_rows, groups, blocks);
  if (HWY_UNLIKELY(next.block % kGroup != 0)) drop_before(next, blocks);
  find_codes<kDtype>(rows, block_rows, blocks, words);
  int32_t kept = 0;
  const int32_t done = append_codes<Element>(rows, threshold, blocks, words, room, kept);
  next = done < blocks.count ? SliceCursor{beam_of(blocks.at[done]), static_cast<int32_t>(number_of(blocks.at[done]))}
                             : beyond;
  return kept;
}

inline int32_t append_slices(const RowSlice* rows, int32_t n, float threshold, SliceCursor& next, const Room& room) {
  const int32_t dtype = rows[0].slice.dtype;
  if (dtype == SIDBEAM_DTYPE_F32) return append_slices_of<SIDBEAM_DTYPE_F32, float>(rows, n, threshold, next, room);
  if (dtype == SIDBEAM_DTYPE_F16) return append_slices_of<SIDBEAM_DTYPE_F16, F16>(rows, n, threshold, next, room);
  return append_slices_of<SIDBEAM_DTYPE_BF16, Bf16>(rows, n, threshold, next, room);
}

// Scores a sample of the groups' maxima and cuts it where about `count` valid columns should lie above, assuming that
// valid columns are like the others. The maximum of a lane stands for several columns, more than one of which may be
// above the cut.
inline float likely_threshold(const RowSlice* rows, int32_t n, int32_t count) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr int64_t kMost = 512;
  const F32 d;
  BlockRow block_rows[kMostSlices];
  int64_t groups = 0, codes = 0, valid = 0;
  for (int32_t r = 0; r < n; ++r) {
    if (rows[r].slice.maxima == nullptr) return kNone;
    block_rows[r] = block_row(rows[r], 0.0F);
    groups += block_rows[r].end_group - block_rows[r].first_group;
    codes += rows[r].slice.codes;
    valid += rows[r].slice.valid;
  }
  const int64_t stride = (groups * kWidth + kMost - 1) / kMost;
  float scores[kMost + kMostSlices * kVectorSlack];
  int32_t size = 0;
  for (int32_t r = 0; r < n; ++r)
    for (int64_t g = block_rows[r].first_group; g < block_rows[r].end_group; g += stride, size += kWidth)
      hn::StoreU(score_of(rows[r].score, hn::LoadU(d, group_maxima(block_rows[r].maxima, g))), d, scores + size);
  const double lanes = static_cast<double>(groups) * kWidth;
  const double columns = 1.3 * count * static_cast<double>(codes) / static_cast<double>(std::max<int64_t>(valid, 1));
  const double expected = size * (1.0 - std::exp(-columns / lanes)), wanted = expected + std::sqrt(expected);
  if (!(wanted < 0.9 * size)) return kNone;
  const auto k = static_cast<int32_t>(wanted) + 1;
  return find_cut(scores, size, k, k / 8).bound;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
