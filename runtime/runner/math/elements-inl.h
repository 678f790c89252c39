// Elements of products. Compiled once per instruction set; every target gives the bits of product-inl.h.
//
// A chain of additions leaves nothing to do side by side within an element; so several elements are computed at once.
// (With an element per lane of a vector, inputs and weights would have to be transposed first, which costs as much.)
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_ELEMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_ELEMENTS_INL
#undef SIDBEAM_RUNNER_ELEMENTS_INL
#else
#define SIDBEAM_RUNNER_ELEMENTS_INL
#endif

#include <algorithm>
#include <cmath>

#include "runner/math/elements.h"
#include "support/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// NOLINTNEXTLINE(google-build-using-namespace): the vectors of this target.
using namespace cpu::HWY_NAMESPACE;

// Chains at once: as many as hide the latency of an addition.
inline constexpr int kChains = 8;

// Inputs [first, first + n) of a row of weights, as floats: in place, or widened to `wide`.
inline const float* floats_of(const Tensor& weights, int64_t row, int64_t first, int64_t n, float* wide) {
  const int64_t at = row * weights.inputs + first;
  if (weights.dtype == Dtype::kF32) {
    const auto* const data = static_cast<const std::byte*>(weights.data) + at * 4;
    if (reinterpret_cast<uintptr_t>(data) % alignof(float) == 0) return reinterpret_cast<const float*>(data);
  }
  int64_t i = 0;
  const auto* const data = static_cast<const std::byte*>(weights.data);
  for (; i + kWidth <= n; i += kWidth) {
    const Floats values = weights.dtype == Dtype::kF32   ? load_vector<SIDBEAM_DTYPE_F32>(data + (at + i) * 4)
                          : weights.dtype == Dtype::kF16 ? load_vector<SIDBEAM_DTYPE_F16>(data + (at + i) * 2)
                                                         : load_vector<SIDBEAM_DTYPE_BF16>(data + (at + i) * 2);
    hn::StoreU(values, F32(), wide + i);
  }
  widen(weights, at + i, n - i, wide + i);
  return wide;
}

inline void multiply_elements_part(const ProductElements& all, int64_t from, int64_t to) {
  HWY_ALIGN float wide[kChains][kBlock];
  for (int64_t begin = from; begin < to; begin += kChains) {
    const int64_t last = to - 1;  // past the end the last element is computed again
    for (int64_t first = 0; first < all.x.columns; first += kBlock) {
      const int64_t n = std::min(kBlock, all.x.columns - first);
      const float *x[kChains], *w[kChains];
      float sums[kChains] = {};
      for (int c = 0; c < kChains; ++c) {
        const int64_t element = std::min(begin + c, last);
        x[c] = all.x[all.rows[element]] + first;
        w[c] = floats_of(all.weights, std::max(all.tokens[all.columns[element]], 0), first, n, wide[c]);
      }
      for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 32
        for (int c = 0; c < kChains; ++c) sums[c] = std::fma(x[c][i], w[c][i], sums[c]);
      }
      for (int c = 0; c < kChains && begin + c < to; ++c) {
        float& y = all.y[all.rows[begin + c]][all.columns[begin + c]];
        y = first > 0 ? sums[c] + y : sums[c];
      }
    }
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
