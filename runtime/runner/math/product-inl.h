// Products with packed weights. Compiled once per instruction set; every target gives the same bits.
// (BLIS's and libxsmm's kernels do so only where there is a fused multiply-add; tests/bench/README.md has the figures.)
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_PRODUCT_INL
#undef SIDBEAM_RUNNER_PRODUCT_INL
#else
#define SIDBEAM_RUNNER_PRODUCT_INL
#endif

#include <algorithm>

#include "runner/math/product_kernels.h"
#include "support/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// NOLINTNEXTLINE(google-build-using-namespace): the vectors of this target.
using namespace cpu::HWY_NAMESPACE;

inline constexpr int kPanelVectors = static_cast<int>(kPanel) / kWidth;
// Rows whose sums fit the registers: 24 of 32 with AVX-512 and NEON, 12 of 16 with AVX2. (Tried with AVX2: 6 rows by 16
// outputs, as BLIS has it, reads more for as many sums.)
inline constexpr int64_t kTileRows = HWY_TARGET == HWY_SCALAR ? 1 : HWY_TARGET == HWY_AVX3 ? 12 : 3;
// Rows that meet all panels before the next rows do: their inputs stay in the second-level cache, which has 1 MiB
// where there is AVX-512. (Tried: copying the inputs first to rows whose distance is no power of two. It cost 3 to 8 %
// of a product; input_stride() gives them that distance for nothing.)
inline constexpr int64_t kMostRows = HWY_TARGET == HWY_AVX3 ? 204 : 96;
inline constexpr int64_t kLine = 64;  // bytes of a cache line

template <Dtype kDtype>
HWY_INLINE Floats load_weights(const std::byte* data, int64_t i) {
  if constexpr (kDtype == Dtype::kF32) return load_vector<SIDBEAM_DTYPE_F32>(data + i * 4);
  if constexpr (kDtype == Dtype::kF16) return load_vector<SIDBEAM_DTYPE_F16>(data + i * 2);
  if constexpr (kDtype == Dtype::kBf16) return load_vector<SIDBEAM_DTYPE_BF16>(data + i * 2);
  if constexpr (kDtype == Dtype::kI8) {
    const hn::Rebind<int8_t, F32> bytes;
    return hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::LoadU(bytes, reinterpret_cast<const int8_t*>(data + i))));
  }
}

// A block of a panel, [inputs, kPanel], and what is read after it.
struct PanelBlock {
  const std::byte* weights;
  int64_t inputs, outputs;  // outputs <= kPanel
  const std::byte* next;
  int64_t next_bytes;
};

// Rows times a block of a panel: y = start + sum * scale.
struct Tile {
  const float* x;
  int64_t x_stride;
  float* y;
  int64_t y_stride;
  const float* start;  // may be y; nullptr: nothing
  int64_t start_stride;
  const float* scales;  // [kPanel]; nullptr: all 1
  const std::byte* prefetch;
};

HWY_INLINE Floats finish(Floats sum, const Tile& tile, int64_t row, int64_t o) {
  const F32 d;
  const float* const start = tile.start == nullptr ? nullptr : tile.start + row * tile.start_stride + o;
  if (tile.scales != nullptr)
    return fma(sum, hn::LoadU(d, tile.scales + o), start == nullptr ? hn::Zero(d) : hn::LoadU(d, start));
  return start == nullptr ? sum : hn::Add(sum, hn::LoadU(d, start));
}

// Adds the products of input i to the sums. The side with fewer vectors is kept in registers meanwhile.
template <int64_t kRows, Dtype kDtype>
HWY_INLINE void add_products(const Tile& tile, const std::byte* weights, int64_t i,
                             Floats (&sums)[kRows][kPanelVectors]) {
  const F32 d;
  if constexpr (kRows <= kPanelVectors) {
    Floats x[kRows];
#pragma GCC unroll 32
    for (int64_t r = 0; r < kRows; ++r) x[r] = hn::Set(d, tile.x[r * tile.x_stride + i]);
#pragma GCC unroll 32
    for (int v = 0; v < kPanelVectors; ++v) {
      const Floats w = load_weights<kDtype>(weights, i * kPanel + v * kWidth);
#pragma GCC unroll 32
      for (int64_t r = 0; r < kRows; ++r) sums[r][v] = fma(x[r], w, sums[r][v]);
    }
  } else {
    Floats w[kPanelVectors];
#pragma GCC unroll 32
    for (int v = 0; v < kPanelVectors; ++v) w[v] = load_weights<kDtype>(weights, i * kPanel + v * kWidth);
#pragma GCC unroll 32
    for (int64_t r = 0; r < kRows; ++r) {
      const Floats x = hn::Set(d, tile.x[r * tile.x_stride + i]);
#pragma GCC unroll 32
      for (int v = 0; v < kPanelVectors; ++v) sums[r][v] = fma(x, w[v], sums[r][v]);
    }
  }
}

// Every loop over the sums is unrolled, because GCC 12 would otherwise keep them in memory.
// (Tried with AVX-512: a pointer for every third row instead of each, inputs fetched ahead, outputs fetched within the
// loop, and fetching only while there is something to fetch. None was worth one percent of a request.)
template <int64_t kRows, Dtype kDtype>
void multiply_tile(const Tile& given, const std::byte* weights, int64_t inputs) {
  const F32 d;
  const Tile tile = given;
  Floats sums[kRows][kPanelVectors];
#pragma GCC unroll 32
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int v = 0; v < kPanelVectors; ++v) sums[r][v] = hn::Zero(d);
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < inputs; ++i) {
    __builtin_prefetch(tile.prefetch + i * kLine, 0, 2);
    add_products<kRows, kDtype>(tile, weights, i, sums);
  }
#pragma GCC unroll 32
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int v = 0; v < kPanelVectors; ++v)
      hn::StoreU(finish(sums[r][v], tile, r, v * kWidth), d, tile.y + r * tile.y_stride + v * kWidth);
  }
}

template <Dtype kDtype, int64_t kRows = kTileRows>
HWY_INLINE void multiply_rows(int64_t rows, const Tile& tile, const std::byte* weights, int64_t inputs) {
  if (rows == kRows) return multiply_tile<kRows, kDtype>(tile, weights, inputs);
  if constexpr (kRows > 1) multiply_rows<kDtype, kRows - 1>(rows, tile, weights, inputs);
}

// The same where the matrix ends within the panel.
template <Dtype kDtype>
void multiply_cut_rows(int64_t rows, const Tile& tile, const PanelBlock& block) {
  HWY_ALIGN float y[kTileRows * kPanel], start[kTileRows * kPanel] = {};
  Tile whole = tile;
  whole.y = y, whole.y_stride = kPanel;
  if (tile.start != nullptr) {
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(tile.start + r * tile.start_stride, block.outputs, start + r * kPanel);
    whole.start = start, whole.start_stride = kPanel;
  }
  multiply_rows<kDtype>(rows, whole, block.weights, block.inputs);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(y + r * kPanel, block.outputs, tile.y + r * tile.y_stride);
}

// All rows of `first`, which is the first tile's, times a block of a panel. They are shared out evenly among as few
// tiles as can be: one of few rows takes nearly as long as a full one.
template <Dtype kDtype>
void multiply_block(const PanelBlock& block, int64_t rows, const Tile& first) {
  Tile tile = first;
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = rows * (t + 1) / tiles - rows * t / tiles;
    for (int64_t r = 0; r < count; ++r)
      for (int64_t o = 0; o < block.outputs; o += kLine / 4) __builtin_prefetch(tile.y + r * tile.y_stride + o, 1);
    // A line per input, until the next block is here.
    const int64_t ahead = t * block.inputs * kLine;
    tile.prefetch = ahead < block.next_bytes ? block.next + ahead : block.weights;
    if (block.outputs == kPanel) {
      multiply_rows<kDtype>(count, tile, block.weights, block.inputs);
    } else {
      multiply_cut_rows<kDtype>(count, tile, block);
    }
    tile.x += count * tile.x_stride, tile.y += count * tile.y_stride;
    if (tile.start != nullptr) tile.start += count * tile.start_stride;
  }
}

// The same after the weights have been widened, where that costs less than to widen them for every tile.
template <Dtype kDtype>
void widen_and_multiply(const PanelBlock& block, int64_t rows, const Tile& first) {
  const F32 d;
  HWY_ALIGN float wide[kBlock * kPanel];
  for (int64_t i = 0; i < block.inputs * kPanel; i += kWidth)
    hn::Store(load_weights<kDtype>(block.weights, i), d, wide + i);
  PanelBlock as_floats = block;
  as_floats.weights = reinterpret_cast<const std::byte*>(wide);
  multiply_block<Dtype::kF32>(as_floats, rows, first);
}

// The inputs [first, first + n) of y's rows, copied, times the part's panels.
template <Dtype kDtype>
void multiply_panels(const ProductPart& part, ConstRows x, int64_t first, int64_t n, Rows y) {
  const Matrix& w = *part.weights;
  const int64_t bytes = n * kPanel * dtype_bytes(kDtype);
  const std::byte* weights = w.elements.data() + kPanel * w.panels() * first * dtype_bytes(kDtype);
  weights += part.first_panel * bytes;
  for (int64_t panel = part.first_panel; panel < part.last_panel; ++panel, weights += bytes) {
    const int64_t output = panel * kPanel;
    Tile tile{x.data + first, x.stride, y.data + output, y.stride, nullptr, 0, nullptr, nullptr};
    if (first > 0 || part.start == Start::kY) {
      tile.start = tile.y, tile.start_stride = y.stride;
    } else if (part.start == Start::kBias) {
      tile.start = part.bias + output;
    }
    if (kDtype == Dtype::kI8) tile.scales = w.scales.data() + output;
    const PanelBlock block{weights, n, std::min(kPanel, w.outputs - output), weights + bytes, bytes};
    if (kDtype != Dtype::kF32 && y.count > 4 * kTileRows) {
      widen_and_multiply<kDtype>(block, y.count, tile);
    } else {
      multiply_block<kDtype>(block, y.count, tile);
    }
  }
}

template <Dtype kDtype>
void multiply_all(const ProductPart& part) {
  const int64_t blocks = (part.x.count + kMostRows - 1) / kMostRows;
  const int64_t rows = ((part.x.count + blocks - 1) / blocks + kTileRows - 1) / kTileRows * kTileRows;
  for (int64_t from = 0; from < part.x.count; from += rows) {
    const int64_t to = std::min(from + rows, part.x.count);
    for (int64_t first = 0; first < part.x.columns; first += kBlock) {
      const int64_t n = std::min(kBlock, part.x.columns - first);
      multiply_panels<kDtype>(part, part.x.rows(from, to), first, n, part.y.rows(from, to));
    }
  }
}

inline void multiply_part(const ProductPart& part) {
  switch (part.weights->dtype) {
    case Dtype::kF32:
      return multiply_all<Dtype::kF32>(part);
    case Dtype::kF16:
      return multiply_all<Dtype::kF16>(part);
    case Dtype::kBf16:
      return multiply_all<Dtype::kBf16>(part);
    case Dtype::kI8:
      return multiply_all<Dtype::kI8>(part);
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
