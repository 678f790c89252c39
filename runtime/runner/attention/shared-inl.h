// The stage of shared keys. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_SHARED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_SHARED_INL
#undef SIDBEAM_RUNNER_SHARED_INL
#else
#define SIDBEAM_RUNNER_SHARED_INL
#endif

#include "runner/attention/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

// Unlike std::copy(), without a call.
HWY_INLINE void copy(const float* from, int64_t n, float* to) {
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::Store(hn::LoadU(d, from + i), d, to + i);
  for (; i < n; ++i) to[i] = from[i];
}

// Adds the first n values, weighted, to the output of `count` rows.
HWY_INLINE void add_values(const HeadRows& rows, int64_t first, int64_t count, const KeyBlock& block, int64_t n,
                           const float* weights) {
  multiply_rows<Sum::kContinued>({weights, kKeyBlock}, count, {block.values, block.value_stride * kLanes},
                                 rows.dims / kLanes, n, {rows.output + first * rows.dims, rows.dims});
}

// Rows of which each sees one more key than the row before: together what all see, then the rest one by one. What a row
// does not see is not multiplied, not even by 0: it might be NaN.
inline void add_causal_values(const HeadRows& rows, int64_t first, int64_t count, const KeyBlock& block,
                              const float* weights) {
  for (int64_t r = 0; r < count; r += kFullRows) {
    const int64_t few = std::min<int64_t>(kFullRows, count - r), common = block.visible(first + r);
    add_values(rows, first + r, few, block, common, weights + r * kKeyBlock);
    for (int64_t i = r + 1; i < r + few; ++i) {
      KeyBlock rest = block;
      rest.values += common * kLanes;
      add_values(rows, first + i, 1, rest, block.visible(first + i) - common, weights + i * kKeyBlock + common);
    }
  }
}

// Rows [first, first + count), at most kTileRows.
inline void attend_tile(const HeadRows& rows, int64_t first, int64_t count, const KeyBlock& block,
                        const KernelScratch& scratch) {
  const int64_t most = block.visible(first + count - 1);
  if (most == 0) return;
  for (int64_t r = 0; r < count; ++r) {
    const float* const query = rows.queries + (first + r) * rows.query_stride;
    copy(query, rows.head_dim, scratch.queries + r * rows.dims);
  }
  multiply_rows<Sum::kFresh>({scratch.queries, rows.dims}, count, {block.keys, kLanes * rows.head_dim},
                             (most + kLanes - 1) / kLanes, rows.head_dim, {scratch.scores, kKeyBlock});
  for (int64_t r = 0; r < count; ++r) {
    const int64_t visible = block.visible(first + r);
    if (visible == 0) continue;
    float* const scores = scratch.scores + r * kKeyBlock;
    const float* const row_bias =
        block.row_bias == nullptr ? nullptr : block.row_bias + (first + r) * block.row_bias_stride;
    soften(rows, first + r, scores, visible, score({visible, rows.scale, block.bias, row_bias}, scores));
  }
  if (block.visible(first) == most) {
    add_values(rows, first, count, block, most, scratch.scores);
  } else {
    add_causal_values(rows, first, count, block, scratch.scores);
  }
}

inline void attend_shared(const HeadRows& rows, const KeyBlock& block, const KernelScratch& scratch) {
  for (int64_t first = 0; first < rows.count; first += kTileRows) {
    attend_tile(rows, first, std::min(kTileRows, rows.count - first), block, scratch);
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
