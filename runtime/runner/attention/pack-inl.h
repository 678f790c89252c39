// Packing rows of keys and values. Compiled once per instruction set; it only moves and widens.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_RUNNER_PACK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_RUNNER_PACK_INL
#undef SIDBEAM_RUNNER_PACK_INL
#else
#define SIDBEAM_RUNNER_PACK_INL
#endif

#include "runner/attention/tile-inl.h"
#include "support/half-inl.h"
#include "support/half.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

template <int32_t kDtype>
struct ElementOf;
template <>
struct ElementOf<SIDBEAM_DTYPE_F32> {
  using Type = float;
};
template <>
struct ElementOf<SIDBEAM_DTYPE_F16> {
  using Type = F16;
};
template <>
struct ElementOf<SIDBEAM_DTYPE_BF16> {
  using Type = Bf16;
};

// Keys of one panel are transposed in squares of this.
inline constexpr int kSquare = kWidth == 1 ? 1 : 4;
using SquareRow = hn::CappedTag<float, kSquare>;

template <int32_t kDtype>
HWY_INLINE hn::Vec<SquareRow> load_square_row(const typename ElementOf<kDtype>::Type* from) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const SquareRow d;
  if constexpr (kDtype == SIDBEAM_DTYPE_F32) return hn::LoadU(d, from);
  if constexpr (kDtype == SIDBEAM_DTYPE_F16) {
    return hn::PromoteTo(
        d, hn::LoadU(hn::Rebind<hwy::float16_t, SquareRow>(), reinterpret_cast<const hwy::float16_t*>(from)));
  }
  const hn::RebindToUnsigned<SquareRow> bits;
  const auto half = hn::LoadU(hn::Rebind<uint16_t, SquareRow>(), reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, half)));
#else
  return load_vector<kDtype>(from);
#endif
}

// to[k * kLanes + i] = from[i * stride + k] for i, k below kSquare.
template <int32_t kDtype>
HWY_INLINE void transpose_square(const typename ElementOf<kDtype>::Type* from, [[maybe_unused]] int64_t stride,
                                 float* to) {
  const SquareRow d;
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(load_square_row<kDtype>(from), d, to);
#else
  const hn::RepartitionToWide<SquareRow> pairs;
  const auto a = load_square_row<kDtype>(from), b = load_square_row<kDtype>(from + stride);
  const auto c = load_square_row<kDtype>(from + 2 * stride), e = load_square_row<kDtype>(from + 3 * stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + kLanes);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * kLanes);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * kLanes);
#endif
}

// Keys of positions [first, first + count).
template <int32_t kDtype>
void pack_keys(const PackedHead& head, int32_t head_dim, int64_t first, int64_t count, const KvRows& rows) {
  for (int64_t i = 0; i < count;) {
    const int64_t position = first + i;
    const auto* const from = static_cast<const typename ElementOf<kDtype>::Type*>(rows.keys) + i * rows.stride;
    float* const to = head.keys + position / kLanes * kLanes * head_dim + position % kLanes;
    const bool square = position % kSquare == 0 && count - i >= kSquare;
    int64_t k = 0;
    if (square) {
      for (; k + kSquare <= head_dim; k += kSquare) transpose_square<kDtype>(from + k, rows.stride, to + k * kLanes);
    }
    const int64_t keys = square ? kSquare : 1;
    for (; k < head_dim; ++k) {
      for (int64_t j = 0; j < keys; ++j) to[k * kLanes + j] = float_of(from[j * rows.stride + k]);
    }
    i += keys;
  }
}

// Values of positions [first, first + count); zeros behind their head_dim.
template <int32_t kDtype>
void pack_values(const PackedHead& head, int32_t head_dim, int64_t first, int64_t count, const KvRows& rows) {
  const F32 d;
  for (int64_t i = 0; i < count; ++i) {
    const auto* const from = static_cast<const typename ElementOf<kDtype>::Type*>(rows.values) + i * rows.stride;
    float* to = head.values + (first + i) * kLanes;
    for (int64_t k = 0; k < head_dim; k += kLanes, to += head.value_stride * kLanes) {
      if (k + kLanes <= head_dim) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) hn::Store(load_vector<kDtype>(from + k + v * kWidth), d, to + v * kWidth);
      } else {
        for (int64_t j = 0; j < kLanes; ++j) to[j] = k + j < head_dim ? float_of(from[k + j]) : 0.0F;
      }
    }
  }
}

template <int32_t kDtype>
void pack_as(const PackedHead& head, int32_t head_dim, int64_t first, int64_t count, const KvRows& rows) {
  pack_keys<kDtype>(head, head_dim, first, count, rows);
  pack_values<kDtype>(head, head_dim, first, count, rows);
}

inline void pack(const PackedHead& head, int32_t head_dim, int64_t first, int64_t count, const KvRows& rows) {
  if (rows.dtype == SIDBEAM_DTYPE_F32) return pack_as<SIDBEAM_DTYPE_F32>(head, head_dim, first, count, rows);
  if (rows.dtype == SIDBEAM_DTYPE_F16) return pack_as<SIDBEAM_DTYPE_F16>(head, head_dim, first, count, rows);
  pack_as<SIDBEAM_DTYPE_BF16>(head, head_dim, first, count, rows);
}

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
