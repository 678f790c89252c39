// RNN and GRU cells, as PyTorch's. Compiled once per instruction set; every target gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_CELL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_CELL_INL
#undef SIDBEAM_RUNNER_CELL_INL
#else
#define SIDBEAM_RUNNER_CELL_INL
#endif

#include <algorithm>

#include "runner/draft/cell.h"
#include "runner/math/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

// tanh and exp give garbage for NaN, which may look like a number.
HWY_INLINE Floats keep_nan(Floats x, Floats y) { return hn::IfThenElse(hn::Eq(x, x), y, x); }

HWY_INLINE Floats tanh_of(Floats x) { return keep_nan(x, tanh(x)); }

HWY_INLINE Floats sigmoid_of(Floats x) {
  const Floats one = hn::Set(F32(), 1.0F);
  return keep_nan(x, hn::Div(one, hn::Add(one, exp(hn::Neg(x)))));
}

// A vector of elements from i on; of those past n zeros.
HWY_INLINE Floats load_part(const float* from, int64_t i, int64_t n) {
  const F32 d;
  if (i + kWidth <= n) return hn::LoadU(d, from + i);
  HWY_ALIGN float last[kWidth] = {};
  std::copy(from + i, from + n, last);
  return hn::Load(d, last);
}

HWY_INLINE void store_part(Floats values, float* to, int64_t i, int64_t n) {
  const F32 d;
  if (i + kWidth <= n) return hn::StoreU(values, d, to + i);
  HWY_ALIGN float last[kWidth];
  hn::Store(values, d, last);
  std::copy(last, last + (n - i), to + i);
}

inline void rnn_cell(const CellRow& row) {
  for (int64_t i = 0; i < row.n; i += kWidth) {
    const Floats sum = hn::Add(load_part(row.move, i, row.n), load_part(row.recurrent, i, row.n));
    store_part(tanh_of(sum), row.out, i, row.n);
  }
}

// r and z from the first two gates, new = tanh(m + r * (W s + b)) from the third; (1 - z) * new + z * s, as
// new + z * (s - new).
inline void gru_cell(const CellRow& row) {
  const int64_t n = row.n;
  for (int64_t i = 0; i < n; i += kWidth) {
    const auto gate = [&](const float* from, int64_t g) { return load_part(from + g * n, i, n); };
    const Floats reset = sigmoid_of(hn::Add(gate(row.move, 0), gate(row.recurrent, 0)));
    const Floats update = sigmoid_of(hn::Add(gate(row.move, 1), gate(row.recurrent, 1)));
    const Floats fresh = tanh_of(fma(reset, gate(row.recurrent, 2), gate(row.move, 2)));
    const Floats state = load_part(row.state, i, n);
    store_part(fma(update, hn::Sub(state, fresh), fresh), row.out, i, n);
  }
}

inline void add_cell(const CellRow& row) {
  for (int64_t i = 0; i < row.n; i += kWidth)
    store_part(hn::Add(load_part(row.state, i, row.n), load_part(row.move, i, row.n)), row.out, i, row.n);
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
