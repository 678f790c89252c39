// Norms, activations, rotations and sums of rows. Compiled once per instruction set; every target gives the same bits:
// sums over a row keep kSumLanes lanes, whatever the width of a vector, and fold them in a fixed order.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_ROWS_INL
#undef SIDBEAM_RUNNER_ROWS_INL
#else
#define SIDBEAM_RUNNER_ROWS_INL
#endif

#include <algorithm>
#include <cmath>

#include "runner/math/elementary-inl.h"
#include "runner/math/row_kernels.h"
#include "support/half-inl.h"
#include "support/half.h"
#include "support/portable_math.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

// Adds the squares of kSumLanes elements to the sums.
HWY_INLINE void add_squares(const float* x, Floats (&sums)[kSumVectors]) {
#pragma GCC unroll 16
  for (int v = 0; v < kSumVectors; ++v) {
    const Floats elements = hn::LoadU(F32(), x + v * kWidth);
    sums[v] = fma(elements, elements, sums[v]);
  }
}

inline float sum_of_squares(const float* x, int64_t n) {
  Floats sums[kSumVectors];
#pragma GCC unroll 16
  for (Floats& sum : sums) sum = hn::Zero(F32());
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) add_squares(x + i, sums);
  if (i < n) {
    HWY_ALIGN float rest[kSumLanes] = {};
    std::copy(x + i, x + n, rest);
    add_squares(rest, sums);
  }
  return sum_of(sums);
}

inline void rms_norm_one(const float* x, const float* gain, float epsilon, int64_t n, float* out) {
  const F32 d;
  const float factor = 1.0F / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + epsilon);
  const Floats factors = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), factors), hn::LoadU(d, gain + i)), d, out + i);
  for (; i < n; ++i) out[i] = x[i] * factor * gain[i];
}

inline void rms_norm_rows(ConstRows x, const float* gain, float epsilon, int64_t heads, Rows out) {
  const int64_t n = x.columns / heads;
  for (int64_t row = 0; row < x.count; ++row)
    for (int64_t at = 0; at < x.columns; at += n) rms_norm_one(x[row] + at, gain, epsilon, n, out[row] + at);
}

struct Relu {
  HWY_INLINE Floats operator()(Floats x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Zero(F32()), x);  // unlike Max, keeps NaN on every target
  }
};
struct Gelu {
  HWY_INLINE Floats operator()(Floats x) const {
    const F32 d;
    const Floats half = hn::Mul(x, hn::Set(d, 0.5F));
    return fma(half, erf(hn::Mul(x, hn::Set(d, 0.707106781F))), half);
  }
};
struct GeluTanh {
  HWY_INLINE Floats operator()(Floats x) const {
    const F32 d;
    const Floats cubic = fma(hn::Mul(hn::Mul(x, x), hn::Set(d, 0.044715F)), x, x);
    const Floats half = hn::Mul(x, hn::Set(d, 0.5F));
    return fma(half, tanh(hn::Mul(cubic, hn::Set(d, 0.797884561F))), half);
  }
};
struct QuickGelu {
  HWY_INLINE Floats operator()(Floats x) const {
    const F32 d;
    return hn::Div(x, hn::Add(exp(hn::Mul(x, hn::Set(d, -1.702F))), hn::Set(d, 1.0F)));
  }
};
// With e = exp(x), tanh(log(1 + e)) is n / (n + 2) of n = e (e + 2): 1 from x = 20 on, where n would soon overflow.
struct Mish {
  HWY_INLINE Floats operator()(Floats x) const {
    const F32 d;
    const Floats two = hn::Set(d, 2.0F), e = exp(hn::Min(x, hn::Set(d, 20.0F))), n = hn::Mul(e, hn::Add(e, two));
    return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  }
};
struct Tanh {
  HWY_INLINE Floats operator()(Floats x) const { return hn::IfThenElse(hn::Eq(x, x), tanh(x), x); }  // keeps NaN
};
struct Silu {
  HWY_INLINE Floats operator()(Floats x) const { return hn::Div(x, hn::Add(exp(hn::Neg(x)), hn::Set(F32(), 1.0F))); }
};

// out = f(x), or f(x) * up unless that is null.
template <class F>
HWY_INLINE void activate_vector(const F& f, const float* x, const float* up, float* out) {
  const F32 d;
  const Floats y = f(hn::LoadU(d, x));
  hn::StoreU(up == nullptr ? y : hn::Mul(y, hn::LoadU(d, up)), d, out);
}

template <class F>
void activate_one(const F& f, const float* x, const float* up, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) activate_vector(f, x + i, up == nullptr ? nullptr : up + i, out + i);
  if (i == n) return;
  HWY_ALIGN float last[kWidth] = {}, last_up[kWidth] = {};
  std::copy(x + i, x + n, last);
  if (up != nullptr) std::copy(up + i, up + n, last_up);
  activate_vector(f, last, up == nullptr ? nullptr : last_up, last);
  std::copy(last, last + (n - i), out + i);
}

template <class F>
void activate_all(const F& f, ConstRows x, bool gated, Rows out) {
  for (int64_t row = 0; row < x.count; ++row)
    activate_one(f, x[row], gated ? x[row] + out.columns : nullptr, out.columns, out[row]);
}

inline void activate_rows(Activation activation, ConstRows x, bool gated, Rows out) {
  switch (activation) {
    case Activation::kRelu:
      return activate_all(Relu(), x, gated, out);
    case Activation::kGelu:
      return activate_all(Gelu(), x, gated, out);
    case Activation::kGeluTanh:
      return activate_all(GeluTanh(), x, gated, out);
    case Activation::kSilu:
      return activate_all(Silu(), x, gated, out);
    case Activation::kQuickGelu:
      return activate_all(QuickGelu(), x, gated, out);
    case Activation::kMish:
      return activate_all(Mish(), x, gated, out);
    case Activation::kTanh:
      return activate_all(Tanh(), x, gated, out);
  }
}

struct SoftCap {
  float cap;
  HWY_INLINE Floats operator()(Floats x) const {
    const F32 d;
    const Floats capped = hn::Mul(tanh(hn::Div(x, hn::Set(d, cap))), hn::Set(d, cap));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, HUGE_VALF)), capped, x);
  }
};

inline void soft_cap_rows(float cap, Rows x) {
  for (int64_t row = 0; row < x.count; ++row) activate_one(SoftCap{cap}, x[row], nullptr, x.columns, x[row]);
}

// Calls visit(elements) for kSumLanes elements at a time, the last of them filled up with -inf.
template <class Visit>
HWY_INLINE void for_each_lanes(const float* x, int64_t n, const Visit& visit) {
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) visit(x + i);
  if (i == n) return;
  HWY_ALIGN float rest[kSumLanes];
  std::fill(rest, rest + kSumLanes, -HUGE_VALF);
  std::copy(x + i, x + n, rest);
  visit(rest);
}

// The largest element; NaN where one is NaN or +inf.
inline float largest_of(const float* x, int64_t n) {
  const F32 d;
  const Floats infinity = hn::Set(d, HUGE_VALF);
  Floats largest[kSumVectors];
#pragma GCC unroll 16
  for (Floats& lanes : largest) lanes = hn::Set(d, -HUGE_VALF);
  auto good = hn::Lt(hn::Zero(d), infinity);
  for_each_lanes(x, n, [&](const float* elements) HWY_ATTR {
#pragma GCC unroll 16
    for (int v = 0; v < kSumVectors; ++v) {
      const Floats some = hn::LoadU(d, elements + v * kWidth);
      good = hn::And(good, hn::Lt(some, infinity));
      largest[v] = hn::Max(largest[v], some);
    }
  });
  if (!hn::AllTrue(d, good)) return NAN;
  return fold(largest, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
}

// Sums of few elements are in f32, and their sum in double: a row may have very many.
inline constexpr int64_t kSummed = 1024;

inline double log_sum_exp_one(float factor, const float* x, int64_t n) {
  const F32 d;
  const float largest = largest_of(x, n);
  if (!(largest > -HUGE_VALF)) return static_cast<double>(largest);
  double total = 0.0;
  for (int64_t begin = 0; begin < n; begin += kSummed) {
    Floats sums[kSumVectors];
#pragma GCC unroll 16
    for (Floats& sum : sums) sum = hn::Zero(d);
    for_each_lanes(x + begin, std::min(kSummed, n - begin), [&](const float* elements) HWY_ATTR {
#pragma GCC unroll 16
      for (int v = 0; v < kSumVectors; ++v) {
        const Floats below = hn::Sub(hn::LoadU(d, elements + v * kWidth), hn::Set(d, largest));
        sums[v] = hn::Add(sums[v], exp(hn::Mul(below, hn::Set(d, factor))));
      }
    });
    total += static_cast<double>(sum_of(sums));
  }
  return static_cast<double>(factor) * static_cast<double>(largest) + portable_log(total);
}

inline void add_rows(ConstRows x, Rows y) {
  const F32 d;
  for (int64_t row = 0; row < x.count; ++row) {
    const float* const from = x[row];
    float* const to = y[row];
    int64_t i = 0;
    for (; i + kWidth <= x.columns; i += kWidth)
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
    for (; i < x.columns; ++i) to[i] += from[i];
  }
}

inline void scale_rows(float factor, Rows y) {
  const F32 d;
  for (int64_t row = 0; row < y.count; ++row) {
    float* const to = y[row];
    int64_t i = 0;
    for (; i + kWidth <= y.columns; i += kWidth)
      hn::StoreU(hn::Mul(hn::LoadU(d, to + i), hn::Set(d, factor)), d, to + i);
    for (; i < y.columns; ++i) to[i] *= factor;
  }
}

// Products and their sum are rounded one by one, as PyTorch does.
inline void rotate_one(const float* cosines, const float* sines, int64_t half, float* x) {
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= half; i += kWidth) {
    const Floats cosine = hn::LoadU(d, cosines + i), sine = hn::LoadU(d, sines + i);
    const Floats a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + half + i);
    hn::StoreU(hn::Sub(hn::Mul(a, cosine), hn::Mul(b, sine)), d, x + i);
    hn::StoreU(hn::Add(hn::Mul(b, cosine), hn::Mul(a, sine)), d, x + half + i);
  }
  for (; i < half; ++i) {
    const float a = x[i], b = x[half + i];
    x[i] = a * cosines[i] - b * sines[i];
    x[half + i] = b * cosines[i] + a * sines[i];
  }
}

inline void rotate_rows(const RopeTable& table, const int32_t* positions, Rows x) {
  for (int64_t row = 0; row < x.count; ++row) {
    const int64_t entry = positions[row] * table.half;
    for (int64_t at = 0; at < x.columns; at += 2 * table.half)
      rotate_one(table.cosines.data() + entry, table.sines.data() + entry, table.half, x[row] + at);
  }
}

// to (+)= from, widened.
template <int32_t kDtype, class T>
void embed_one(const T* from, int64_t n, bool add, float* to) {
  const F32 d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Floats x = load_vector<kDtype>(from + i);
    hn::StoreU(add ? hn::Add(hn::LoadU(d, to + i), x) : x, d, to + i);
  }
  for (; i < n; ++i) to[i] = add ? to[i] + float_of(from[i]) : float_of(from[i]);
}

template <int32_t kDtype, class T>
void embed_all(const Table& table, const int32_t* tokens, int64_t group, Rows out) {
  const T* const elements = reinterpret_cast<const T*>(table.elements.data());
  for (int64_t row = 0; row < out.count; ++row) {
    bool add = false;
    for (const int32_t* token = tokens + row * group; token != tokens + (row + 1) * group; ++token) {
      if (*token < 0) continue;
      embed_one<kDtype>(elements + *token * table.columns, table.columns, add, out[row]);
      add = true;
    }
    if (!add) std::fill_n(out[row], out.columns, 0.0F);
  }
}

inline void embed_rows(const Table& table, const int32_t* tokens, int64_t group, Rows out) {
  switch (table.dtype) {
    case Dtype::kF16:
      return embed_all<SIDBEAM_DTYPE_F16, F16>(table, tokens, group, out);
    case Dtype::kBf16:
      return embed_all<SIDBEAM_DTYPE_BF16, Bf16>(table, tokens, group, out);
    default:
      return embed_all<SIDBEAM_DTYPE_F32, float>(table, tokens, group, out);
  }
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
