// Inner products. Compiled once per instruction set; every target gives the same bits.
// (The products of runner/math, whose lanes are outputs, read packed weights. Packing the children of each step costs
// as much as multiplying them; lanes along the inputs need no packing, and weights stay where the host has them.)
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_DOT_INL
#undef SIDBEAM_RUNNER_DOT_INL
#else
#define SIDBEAM_RUNNER_DOT_INL
#endif

#include <algorithm>
#include <cmath>

#include "runner/hidden/dot_kernels.h"
#include "support/half-inl.h"
#include "support/half.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// NOLINTNEXTLINE(google-build-using-namespace): the vectors of this target.
using namespace cpu::HWY_NAMESPACE;

inline constexpr int kLaneVectors = static_cast<int>(kDotLanes) / kWidth;
// Rows by columns whose lanes fit the registers: 4 x 6 vectors of AVX-512, 2 x 3 pairs of AVX2's.
inline constexpr int kTileRows = HWY_TARGET == HWY_SCALAR ? 1 : kLaneVectors == 1 ? 4 : 2;
inline constexpr int kTileColumns = HWY_TARGET == HWY_SCALAR ? 1 : kLaneVectors == 1 ? 6 : 3;
// Products whose lanes fit the registers beside their weights: of one column, and of any.
inline constexpr int kColumnRows = HWY_TARGET == HWY_SCALAR ? 1 : kLaneVectors == 1 ? 8 : 6;
inline constexpr int kMixed = HWY_TARGET == HWY_SCALAR ? 1 : kLaneVectors == 1 ? 8 : 4;
// Rows for which a column is multiplied by itself: its weights are then read once for all of them. (Mixing
// columns of three to seven rows made the steps of 8192 columns a seventh slower.)
inline constexpr int64_t kLeastRows = HWY_TARGET == HWY_SCALAR ? 1 : 3;
// The same where columns have fewer than two products on average. (There steps of 32768 columns took a twentieth less
// with five than with three, and some more with nine.)
inline constexpr int64_t kLeastRowsOfFew = HWY_TARGET == HWY_SCALAR ? 1 : 5;
// Columns whose weights are fetched before their turn comes. (With one, memory was waited for wherever a column has
// fewer than two products; sixteen gained nothing.)
inline constexpr int64_t kAhead = 8;
// Rows of hidden states that stay in the second-level cache while columns pass.
inline constexpr int64_t kChunkRows = 64;
inline constexpr int64_t kLine = 64;  // bytes of a cache line

template <Dtype kDtype>
inline constexpr int64_t kElementBytes = kDtype == Dtype::kF32 ? 4 : 2;

template <Dtype kDtype>
HWY_INLINE Floats load_weights(const std::byte* at) {
  if constexpr (kDtype == Dtype::kF32) return load_vector<SIDBEAM_DTYPE_F32>(at);
  if constexpr (kDtype == Dtype::kF16) return load_vector<SIDBEAM_DTYPE_F16>(at);
  if constexpr (kDtype == Dtype::kBf16) return load_vector<SIDBEAM_DTYPE_BF16>(at);
}

template <Dtype kDtype>
inline float weight_at(const std::byte* at) {
  if constexpr (kDtype == Dtype::kF32) return *reinterpret_cast<const float*>(at);
  if constexpr (kDtype == Dtype::kF16) return float_of(*reinterpret_cast<const F16*>(at));
  if constexpr (kDtype == Dtype::kBf16) return float_of(*reinterpret_cast<const Bf16*>(at));
}

// Widened weights; conversion is exact.
template <Dtype kDtype>
inline void load_all(const std::byte* from, int64_t n, float* out) {
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(load_weights<kDtype>(from + i * kElementBytes<kDtype>), d, out + i);
  for (; i < n; ++i) out[i] = weight_at<kDtype>(from + i * kElementBytes<kDtype>);
}
inline void load_floats(Dtype dtype, const std::byte* from, int64_t n, float* out) {
  if (dtype == Dtype::kF16) return load_all<Dtype::kF16>(from, n, out);
  if (dtype == Dtype::kBf16) return load_all<Dtype::kBf16>(from, n, out);
  load_all<Dtype::kF32>(from, n, out);
}

// Lanes in one vector, folded in halves.
#if HWY_TARGET == HWY_SCALAR
template <class D, class V>
HWY_INLINE float fold_vector(D /*d*/, V v) {
  return hn::GetLane(v);
}
#else
template <class D, class V>
HWY_INLINE float fold_vector(D d, V v) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    return fold_vector(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  }
}
#endif

// The sum of the lanes, after the inputs [first, n), fewer than there are lanes, have been added one by one.
template <Dtype kDtype>
HWY_INLINE float fold(Floats (&sums)[kLaneVectors], const float* x, const std::byte* w, int64_t first, int64_t n) {
  const F32 d;
  if (first < n) {
    HWY_ALIGN float lanes[kDotLanes];
    for (int v = 0; v < kLaneVectors; ++v) hn::Store(sums[v], d, lanes + v * kWidth);
    for (int64_t i = first; i < n; ++i)
      lanes[i - first] = std::fma(x[i], weight_at<kDtype>(w + i * kElementBytes<kDtype>), lanes[i - first]);
    for (int v = 0; v < kLaneVectors; ++v) sums[v] = hn::Load(d, lanes + v * kWidth);
  }
#pragma GCC unroll 32
  for (int half = kLaneVectors / 2; half > 0; half /= 2)
#pragma GCC unroll 32
    for (int v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
  return fold_vector(d, sums[0]);
}

// Weights that are fetched while others are multiplied: a line of each per line of those.
struct Fetched {
  const std::byte* at[kAhead];
  int count = 0;

  void fetch(int64_t offset) const {
    for (int i = 0; i < count; ++i) __builtin_prefetch(at[i] + offset, 0, 2);
  }
};

// The sums of a block of n inputs, out[r * kColumns + c].
template <int kRows, int kColumns, Dtype kDtype>
void dot_tile(const float* const* x, const std::byte* const* w, int64_t n, const Fetched& fetched, float* out) {
  const F32 d;
  constexpr int64_t kBytes = kElementBytes<kDtype>;
  Floats sums[kRows][kColumns][kLaneVectors];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c)
#pragma GCC unroll 32
      for (int v = 0; v < kLaneVectors; ++v) sums[r][c][v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) {
    fetched.fetch(i * kBytes);
#pragma GCC unroll 32
    for (int v = 0; v < kLaneVectors; ++v) {
      Floats weights[kColumns];
#pragma GCC unroll 32
      for (int c = 0; c < kColumns; ++c) weights[c] = load_weights<kDtype>(w[c] + (i + v * kWidth) * kBytes);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        const Floats inputs = hn::LoadU(d, x[r] + i + v * kWidth);
#pragma GCC unroll 32
        for (int c = 0; c < kColumns; ++c) sums[r][c][v] = fma(inputs, weights[c], sums[r][c][v]);
      }
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c) out[r * kColumns + c] = fold<kDtype>(sums[r][c], x[r], w[c], i, n);
}

// The sums of the products of x[i] and w[i] for i < kCount. Their loads wait for memory together; by themselves the
// products of a column with one row would do so one after the other.
template <int kCount, Dtype kDtype>
void dot_mixed(const float* const* x, const std::byte* const* w, int64_t n, const Fetched& fetched, float* out) {
  const F32 d;
  constexpr int64_t kBytes = kElementBytes<kDtype>;
  Floats sums[kCount][kLaneVectors];
#pragma GCC unroll 32
  for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 32
    for (int v = 0; v < kLaneVectors; ++v) sums[p][v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) {
    fetched.fetch(i * kBytes);
#pragma GCC unroll 32
    for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 32
      for (int v = 0; v < kLaneVectors; ++v)
        sums[p][v] = fma(hn::LoadU(d, x[p] + i + v * kWidth), load_weights<kDtype>(w[p] + (i + v * kWidth) * kBytes),
                         sums[p][v]);
  }
#pragma GCC unroll 32
  for (int p = 0; p < kCount; ++p) out[p] = fold<kDtype>(sums[p], x[p], w[p], i, n);
}

// One column, up to kColumnRows rows.
template <Dtype kDtype, int kRows = kColumnRows>
HWY_INLINE void dot_column(int64_t rows, const float* const* x, const std::byte* w, int64_t n, const Fetched& fetched,
                           float* out) {
  if (rows == kRows) return dot_tile<kRows, 1, kDtype>(x, &w, n, fetched, out);
  if constexpr (kRows > kLeastRows) dot_column<kDtype, kRows - 1>(rows, x, w, n, fetched, out);
}

template <Dtype kDtype, int kCount = kMixed>
HWY_INLINE void dot_some(int count, const float* const* x, const std::byte* const* w, int64_t n, const Fetched& fetched,
                         float* out) {
  if (count == kCount) return dot_mixed<kCount, kDtype>(x, w, n, fetched, out);
  if constexpr (kCount > 1) dot_some<kDtype, kCount - 1>(count, x, w, n, fetched, out);
}

// The inputs [first, first + n) of the pairs of some columns of a list.
template <Dtype kDtype>
class PairProducts {
 public:
  PairProducts(const OutputLayer& layer, const PairList& list, int64_t first, int64_t n)
      : layer_(layer),
        list_(list),
        first_(first),
        n_(n),
        least_rows_(list.count() < 2 * list.column_count ? kLeastRowsOfFew : kLeastRows) {}

  void multiply(int64_t from, int64_t to) {
    next_ = from, to_ = to;
    for (int64_t at = from; at < to; ++at) {
      const int64_t end = list_.starts[at + 1];
      int64_t pair = list_.starts[at];
      for (; end - pair >= least_rows_; pair += std::min<int64_t>(kColumnRows, end - pair))
        multiply_column(at, pair, std::min<int64_t>(kColumnRows, end - pair));
      for (; pair < end; ++pair) {
        mixed_[mixed_count_] = pair, columns_[mixed_count_] = at;
        if (++mixed_count_ == kMixed) multiply_mixed();
      }
    }
    multiply_mixed();
  }

 private:
  const std::byte* weights(int64_t at) const { return layer_.row(list_.columns[at]) + first_ * kElementBytes<kDtype>; }
  const float* input(int64_t pair) const { return list_.rows[list_.pairs[pair].row] + first_; }
  void add(int64_t at, int64_t pair, float sum) {
    float& value = list_.values[list_.pairs[pair].value];
    const float bias = layer_.bias != nullptr ? layer_.bias[list_.columns[at]] : 0.0F;
    value = (first_ == 0 ? bias : value) + sum;
  }
  // The weights that come up to kAhead columns after `at`.
  Fetched fetch_after(int64_t at) {
    Fetched fetched;
    for (; next_ < std::min(at + 1 + kAhead, to_) && fetched.count < kAhead; ++next_)
      fetched.at[fetched.count++] = weights(next_);
    return fetched;
  }

  // Up to kColumnRows pairs of one column.
  void multiply_column(int64_t at, int64_t pair, int64_t rows) {
    const float* x[kColumnRows];
    float sums[kColumnRows];
    for (int64_t r = 0; r < rows; ++r) x[r] = input(pair + r);
    dot_column<kDtype>(rows, x, weights(at), n_, fetch_after(at), sums);
    for (int64_t r = 0; r < rows; ++r) add(at, pair + r, sums[r]);
  }

  // The pairs that wait, of any columns.
  void multiply_mixed() {
    if (mixed_count_ == 0) return;
    const float* x[kMixed];
    const std::byte* w[kMixed];
    float sums[kMixed];
    for (int p = 0; p < mixed_count_; ++p) x[p] = input(mixed_[p]), w[p] = weights(columns_[p]);
    dot_some<kDtype>(mixed_count_, x, w, n_, fetch_after(columns_[mixed_count_ - 1]), sums);
    for (int p = 0; p < mixed_count_; ++p) add(columns_[p], mixed_[p], sums[p]);
    mixed_count_ = 0;
  }

  const OutputLayer& layer_;
  const PairList& list_;
  int64_t first_, n_, least_rows_;
  int64_t next_ = 0, to_ = 0;                // columns: the next one to be fetched, and the end
  int64_t mixed_[kMixed], columns_[kMixed];  // pairs that wait, and their columns
  int mixed_count_ = 0;
};

// Block by block, so that the hidden states of all rows stay in the last-level cache.
template <Dtype kDtype>
void multiply_columns(const OutputLayer& layer, const PairList& list, int64_t from, int64_t to) {
  for (int64_t first = 0; first < layer.width; first += kDotBlock)
    PairProducts<kDtype>(layer, list, first, std::min(kDotBlock, layer.width - first)).multiply(from, to);
}

inline void multiply_in_place(const OutputLayer& layer, const PairList& list, int64_t from, int64_t to) {
  switch (layer.dtype) {
    case Dtype::kF16:
      return multiply_columns<Dtype::kF16>(layer, list, from, to);
    case Dtype::kBf16:
      return multiply_columns<Dtype::kBf16>(layer, list, from, to);
    default:
      return multiply_columns<Dtype::kF32>(layer, list, from, to);
  }
}

// Columns of a tile: their weights as floats, and where they go.
struct TileColumns {
  const std::byte* weights[kTileColumns];
  int64_t columns[kTileColumns];
  int count;
};

template <int kRows>
HWY_INLINE void dot_rows(const TileColumns& tile, const float* const* x, int64_t n, float* out) {
  const Fetched nothing = {};
  if (tile.count == kTileColumns) return dot_tile<kRows, kTileColumns, Dtype::kF32>(x, tile.weights, n, nothing, out);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < tile.count; ++c)
      dot_tile<1, 1, Dtype::kF32>(x + r, tile.weights + c, n, nothing, out + r * kTileColumns + c);
}

// Rows [row, row + rows) of the list with a tile's columns, the inputs [first, first + n).
inline void multiply_tile_rows(const OutputLayer& layer, const TileList& list, const TileColumns& tile, int64_t row,
                               int64_t rows, int64_t first, int64_t n) {
  const float* x[kTileRows];
  float sums[kTileRows * kTileColumns];
  for (int64_t r = 0; r < rows; ++r) x[r] = list.rows[row + r] + first;
  if (rows == kTileRows) {
    dot_rows<kTileRows>(tile, x, n, sums);
  } else {
    for (int64_t r = 0; r < rows; ++r) dot_rows<1>(tile, x + r, n, sums + r * kTileColumns);
  }
  for (int64_t r = 0; r < rows; ++r) {
    float* out = list.out + (row + r) * list.out_stride;
    for (int c = 0; c < tile.count; ++c) {
      const int64_t column = tile.columns[c];
      const float start = first > 0 ? out[column] : layer.bias != nullptr ? layer.bias[column] : 0.0F;
      out[column] = start + sums[r * kTileColumns + c];
    }
  }
}

// The tile's columns from the list's `at` on, of which 16-bit weights are widened once for all rows.
inline TileColumns tile_at(const OutputLayer& layer, const TileList& list, int64_t at, int64_t to, int64_t first,
                           int64_t n, float* wide) {
  TileColumns tile;
  tile.count = static_cast<int>(std::min<int64_t>(kTileColumns, to - at));
  for (int c = 0; c < tile.count; ++c) {
    tile.columns[c] = list.columns != nullptr ? list.columns[at + c] : at + c;
    tile.weights[c] = layer.row(tile.columns[c]) + first * dtype_bytes(layer.dtype);
    if (layer.dtype == Dtype::kF32) continue;
    load_floats(layer.dtype, tile.weights[c], n, wide + c * kDotBlock);
    tile.weights[c] = reinterpret_cast<const std::byte*>(wide + c * kDotBlock);
  }
  return tile;
}

inline void multiply_tiles_part(const OutputLayer& layer, const TileList& list, int64_t from, int64_t to) {
  HWY_ALIGN float wide[kTileColumns * kDotBlock];
  for (int64_t chunk = 0; chunk < list.row_count; chunk += kChunkRows) {
    const int64_t end = std::min(chunk + kChunkRows, list.row_count);
    for (int64_t first = 0; first < layer.width; first += kDotBlock) {
      const int64_t n = std::min(kDotBlock, layer.width - first);
      for (int64_t at = from; at < to; at += kTileColumns) {
        const TileColumns tile = tile_at(layer, list, at, to, first, n, wide);
        for (int64_t row = chunk; row < end; row += kTileRows)
          multiply_tile_rows(layer, list, tile, row, std::min<int64_t>(kTileRows, end - row), first, n);
      }
    }
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
