// The stage of each row's own ancestors, and the end of all stages. Compiled once per instruction set; every target
// gives the same bits. SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_ANCESTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_ANCESTORS_INL
#undef SIDBEAM_RUNNER_ANCESTORS_INL
#else
#define SIDBEAM_RUNNER_ANCESTORS_INL
#endif

#include "runner/attention/pack-inl.h"
#include "runner/attention/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

// A key or value as floats, zeros behind its head_dim: itself where it is that, else a copy in `row`.
template <int32_t kDtype>
HWY_INLINE const float* widened(const typename ElementOf<kDtype>::Type* elements, int32_t head_dim, float* row) {
  if constexpr (kDtype == SIDBEAM_DTYPE_F32) {
    if (head_dim % kLanes == 0) return elements;
  }
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= head_dim; i += kWidth) hn::Store(load_vector<kDtype>(elements + i), d, row + i);
  for (; i < head_dim; ++i) row[i] = float_of(elements[i]);
  for (; i % kLanes != 0; ++i) row[i] = 0.0F;
  return row;
}

HWY_INLINE float dot(const float* a, const float* b, int64_t dims) {
  const F32 d;
  Floats sums[kVectors];
  for (Floats& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < dims; i += kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = fma(hn::LoadU(d, a + i + v * kWidth), hn::LoadU(d, b + i + v * kWidth), sums[v]);
    }
  }
  return sum_of(sums);
}

// output += weight * value.
HWY_INLINE void add_value(float weight, const float* value, int64_t dims, float* output) {
  const F32 d;
  const Floats factor = hn::Set(d, weight);
  for (int64_t i = 0; i < dims; i += kWidth) {
    hn::Store(fma(factor, hn::LoadU(d, value + i), hn::Load(d, output + i)), d, output + i);
  }
}

inline constexpr int64_t kLine = 64;  // bytes of a cache line

// Rows whose lists go through the softmax together, each in a lane of its own.
inline constexpr int64_t kListRows = kLanes;

// Entries [first, first + count) of the lists of rows [row, row + n): at most kKeyBlock of at most kListRows.
struct ListTile {
  int64_t row, n;
  int32_t first, count;
};

// A row's keys are fetched so many rows before they are read.
inline constexpr int64_t kRowsAhead = 4;

// Heads are gone through one by one, so that a key is a few lines of a row that the caches seldom hold.
template <class Element>
HWY_INLINE void prefetch(const Element* row, int32_t head_dim) {
  for (int64_t k = 0; k < head_dim; k += kLine / static_cast<int64_t>(sizeof(Element))) __builtin_prefetch(row + k);
}

// Whether a row has an ancestor at its list's entry: what a bias of -inf hides may be NaN, and is not read.
HWY_INLINE bool has_ancestor(const AncestorRows& all, const int32_t* list, int32_t first, int32_t i) {
  return list[i] >= 0 && (all.bias == nullptr || all.bias[first + i] != kNone);
}

// scores[i, r] of entry i of the tile's row r; kNone where there is no ancestor or no row.
template <int32_t kDtype>
HWY_INLINE void score_lists(const HeadRows& rows, const AncestorRows& all, const ListTile& tile,
                            const KernelScratch& scratch) {
  using Element = typename ElementOf<kDtype>::Type;
  const auto* const keys = static_cast<const Element*>(all.rows.keys);
  const auto* const values = static_cast<const Element*>(all.rows.values);
  std::fill_n(scratch.scores, tile.count * kListRows, kNone);
  for (int64_t r = 0; r < tile.n; ++r) {
    const float* const query =
        widened<SIDBEAM_DTYPE_F32>(rows.queries + (tile.row + r) * rows.query_stride, rows.head_dim, scratch.queries);
    const int32_t* const list = all.ancestors + (tile.row + r) * all.depth + tile.first;
    for (int32_t i = 0; i < tile.count; ++i) {
      if (tile.row + r + kRowsAhead < rows.count)
        prefetch(keys + std::max(list[kRowsAhead * all.depth + i], 0) * all.rows.stride, rows.head_dim);
      if (!has_ancestor(all, list, tile.first, i)) continue;
      prefetch(values + list[i] * all.rows.stride, rows.head_dim);  // for add_lists()
      const float* const key = widened<kDtype>(keys + list[i] * all.rows.stride, rows.head_dim, scratch.row);
      const float product = dot(query, key, rows.dims) * rows.scale;
      scratch.scores[i * kListRows + r] = all.bias == nullptr ? product : product + all.bias[tile.first + i];
    }
  }
}

// soften() of the tile's lists. keep[r]: what brings the output of its row r to their scale.
HWY_INLINE void soften_lists(const HeadRows& rows, const ListTile& tile, float* scores, float* keep) {
  const F32 d;
  HWY_ALIGN float largest[kListRows] = {}, sum[kListRows] = {};
  std::copy_n(rows.largest + tile.row, tile.n, largest);
  std::copy_n(rows.sum + tile.row, tile.n, sum);
  for (int64_t v = 0; v < kListRows; v += kWidth) {
    const Floats before = hn::Load(d, largest + v);
    Floats highest = before;
    for (int32_t i = 0; i < tile.count; ++i) highest = larger(highest, hn::Load(d, scores + i * kListRows + v));
    const Floats origin = hn::IfThenElse(hn::Eq(highest, hn::Set(d, kNone)), hn::Zero(d), highest);
    const Floats kept = weight_of(hn::Sub(before, origin));
    Floats weights = hn::Zero(d);
    for (int32_t i = 0; i < tile.count; ++i) {
      const Floats weight = weight_of(hn::Sub(hn::Load(d, scores + i * kListRows + v), origin));
      hn::Store(weight, d, scores + i * kListRows + v);
      weights = hn::Add(weights, weight);
    }
    hn::Store(highest, d, largest + v);
    hn::Store(kept, d, keep + v);
    hn::Store(hn::Add(hn::Mul(hn::Load(d, sum + v), kept), weights), d, sum + v);
  }
  std::copy_n(largest, tile.n, rows.largest + tile.row);
  std::copy_n(sum, tile.n, rows.sum + tile.row);
}

template <int32_t kDtype>
HWY_INLINE void add_lists(const HeadRows& rows, const AncestorRows& all, const ListTile& tile, const float* keep,
                          const KernelScratch& scratch) {
  const auto* const values = static_cast<const typename ElementOf<kDtype>::Type*>(all.rows.values);
  for (int64_t r = 0; r < tile.n; ++r) {
    if (keep[r] != 1.0F) scale_output(rows, tile.row + r, keep[r]);
    const int32_t* const list = all.ancestors + (tile.row + r) * all.depth + tile.first;
    for (int32_t i = 0; i < tile.count; ++i) {
      if (!has_ancestor(all, list, tile.first, i)) continue;
      const float* const value = widened<kDtype>(values + list[i] * all.rows.stride, rows.head_dim, scratch.row);
      add_value(scratch.scores[i * kListRows + r], value, rows.dims, rows.output + (tile.row + r) * rows.dims);
    }
  }
}

template <int32_t kDtype>
void attend_lists(const HeadRows& rows, const AncestorRows& all, const KernelScratch& scratch) {
  HWY_ALIGN float keep[kListRows];
  for (int64_t row = 0; row < rows.count; row += kListRows) {
    for (int32_t first = 0; first < all.depth; first += static_cast<int32_t>(kKeyBlock)) {
      const ListTile tile{row, std::min(kListRows, rows.count - row), first,
                          std::min(all.depth - first, static_cast<int32_t>(kKeyBlock))};
      score_lists<kDtype>(rows, all, tile, scratch);
      soften_lists(rows, tile, scratch.scores, keep);
      add_lists<kDtype>(rows, all, tile, keep, scratch);
    }
  }
}

inline void attend_ancestors(const HeadRows& rows, const AncestorRows& all, const KernelScratch& scratch) {
  if (all.rows.dtype == SIDBEAM_DTYPE_F32) return attend_lists<SIDBEAM_DTYPE_F32>(rows, all, scratch);
  if (all.rows.dtype == SIDBEAM_DTYPE_F16) return attend_lists<SIDBEAM_DTYPE_F16>(rows, all, scratch);
  attend_lists<SIDBEAM_DTYPE_BF16>(rows, all, scratch);
}

inline void finish(const HeadRows& rows, float* output, int64_t stride) {
  const F32 d;
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* const from = rows.output + r * rows.dims;
    float* const to = output + r * stride;
    if (rows.sum[r] == 0.0F) {
      std::fill_n(to, rows.head_dim, 0.0F);
      continue;
    }
    const float factor = 1.0F / rows.sum[r];
    int32_t i = 0;
    for (; i + kWidth <= rows.head_dim; i += kWidth)
      hn::StoreU(hn::Mul(hn::Load(d, from + i), hn::Set(d, factor)), d, to + i);
    for (; i < rows.head_dim; ++i) to[i] = from[i] * factor;
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
