// Products of a few rows with panels. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_TILE_INL
#undef SIDBEAM_RUNNER_TILE_INL
#else
#define SIDBEAM_RUNNER_TILE_INL
#endif

#include <algorithm>

#include "runner/attention/shared_kv.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace cpu::HWY_NAMESPACE;  // NOLINT: the vectors of this target

inline constexpr int kLanes = static_cast<int>(HeadShape::kPanel);
inline constexpr int kVectors = kLanes / kWidth;

// Rows, `stride` floats from one to the next.
struct RowsAt {
  float* data;
  int64_t stride;
};
struct ConstRowsAt {
  const float* data;
  int64_t stride;
};

enum class Sum { kFresh, kContinued };

// y[r][p][i] = (0, or itself) + sum of x[r][k] * panels[p][k][i] for k = 0 .. n-1: one chain of fused multiply-adds.
// Panels of y follow each other.
template <int kRows, int kPanels, Sum kSum>
HWY_INLINE void multiply_tile(ConstRowsAt x, ConstRowsAt panels, int64_t n, RowsAt y) {
  const F32 d;
  Floats sums[kRows][kPanels][kVectors];
  // GCC keeps the sums in registers only if every loop over them is unrolled.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        sums[r][p][v] =
            kSum == Sum::kFresh ? hn::Zero(d) : hn::LoadU(d, y.data + r * y.stride + p * kLanes + v * kWidth);
      }
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    Floats panel[kPanels][kVectors];
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        panel[p][v] = hn::LoadU(d, panels.data + p * panels.stride + k * kLanes + v * kWidth);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Floats element = hn::Set(d, x.data[r * x.stride + k]);
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[r][p][v] = fma(element, panel[p][v], sums[r][p][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sums[r][p][v], d, y.data + r * y.stride + p * kLanes + v * kWidth);
      }
    }
  }
}

// A few rows and all panels; enough panels at a time that additions do not wait for each other.
template <int kRows, Sum kSum>
void multiply_few(ConstRowsAt x, ConstRowsAt panels, int64_t panel_count, int64_t n, RowsAt y) {
  constexpr int kPanels = std::max(1, kWidth / (kRows * 2));
  int64_t p = 0;
  for (; p + kPanels <= panel_count; p += kPanels) {
    multiply_tile<kRows, kPanels, kSum>(x, {panels.data + p * panels.stride, panels.stride}, n,
                                        {y.data + p * kLanes, y.stride});
  }
  for (; p < panel_count; ++p) {
    multiply_tile<kRows, 1, kSum>(x, {panels.data + p * panels.stride, panels.stride}, n,
                                  {y.data + p * kLanes, y.stride});
  }
}

// With AVX-512 two panels, since a core reads no more elements than it multiplies.
inline constexpr int kFullRows = kWidth == 16 ? 12 : 6, kFullPanels = kWidth == 16 ? 2 : 1;

// `rows`: a multiple of kFullRows.
template <int kPanels, Sum kSum>
void multiply_full(ConstRowsAt x, int64_t rows, ConstRowsAt panels, int64_t n, RowsAt y) {
  for (int64_t r = 0; r < rows; r += kFullRows) {
    multiply_tile<kFullRows, kPanels, kSum>({x.data + r * x.stride, x.stride}, panels, n,
                                            {y.data + r * y.stride, y.stride});
  }
}

template <Sum kSum>
void multiply_rows(ConstRowsAt x, int64_t rows, ConstRowsAt panels, int64_t panel_count, int64_t n, RowsAt y) {
  const int64_t full = rows / kFullRows * kFullRows;
  int64_t p = 0;
  for (; p + kFullPanels <= panel_count; p += kFullPanels)
    multiply_full<kFullPanels, kSum>(x, full, {panels.data + p * panels.stride, panels.stride}, n,
                                     {y.data + p * kLanes, y.stride});
  for (; p < panel_count; ++p)
    multiply_full<1, kSum>(x, full, {panels.data + p * panels.stride, panels.stride}, n,
                           {y.data + p * kLanes, y.stride});
  for (int64_t r = full; r < rows;) {
    const ConstRowsAt few{x.data + r * x.stride, x.stride};
    const RowsAt out{y.data + r * y.stride, y.stride};
    const int64_t left = rows - r;
    if (left >= 4) {
      multiply_few<4, kSum>(few, panels, panel_count, n, out);
      r += 4;
    } else if (left >= 2) {
      multiply_few<2, kSum>(few, panels, panel_count, n, out);
      r += 2;
    } else {
      multiply_few<1, kSum>(few, panels, panel_count, n, out);
      r += 1;
    }
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
