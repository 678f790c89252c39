// The sum of exp over a row, in one pass, at the speed of memory.
//
// Columns are summed on 64 virtual lanes whatever the width of a vector: column j on lane j mod 64 (bf16: the two
// halves of a 32-bit word on lanes w and w + 32, so that a shift and a mask unpack them). After 1024 columns the lanes
// are folded to 16 and carried on in double. So the tree depends on the number of columns alone. A lane adds at most 16
// terms: rounding is at most (16 + 2) / 2 * 2^-24 (sum) + 7.7e-8 (polynomial) + 2^-25 + 2^-24 (its evaluation) + 9.3e-8
// (the constant below) = 7.9e-7 relative, however the terms conspire. (2048 columns a chunk: 1.3e-6.)
//
// Terms are taken relative to 2^exponent, which only moves, exactly, when a block of 64 columns has an x more than 32
// octaves above it. Terms more than 96 octaves below count as 2^-96. Where |x| passes 2^20 no integer power of two can
// be told from its neighbours; such a row is summed relative to its maximum.
//
// Two fused operations reduce an argument: n = round(x * L), f = x * L - n. L is the float nearest log2(e), and 1.3e-8
// below it: every exp(x) comes out as exp(x - kDeficit * x). Instead of a third operation an element (a low part of L),
// the sum is multiplied by exp(kDeficit * mean), where the mean of x under the softmax lies between the log-sum-exp and
// that less log n: taken in the middle, 7 * 1.3e-8 are left at n = 2^20. SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_LOG_SUM_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_LOG_SUM_EXP_INL
#undef SIDBEAM_CPU_LOG_SUM_EXP_INL
#else
#define SIDBEAM_CPU_LOG_SUM_EXP_INL
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/cpu/portable_math.h"
#include "backend/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kFoldedLanes = 16;
inline constexpr float kHuge = 1048576.0F;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr int kHeadroom = 32, kFloor = 96;  // octaves
inline constexpr double kDeficit = 1.3349758171622139e-8;

// The reference 2^exponent and what follows from it, as vectors.
struct Reference {
  Floats limit;  // a larger x moves the exponent; NaN until there is one
  Floats floor;  // a smaller x counts as this
  Floats magic;  // 1.5 * 2^23 + 127 - exponent: x * L + magic has round(x * L) - exponent, biased, in its low bits
  int32_t exponent = 0;
  bool begun = false;
};

inline void set_exponent(Reference& reference, int32_t exponent) {
  const F32 d;
  reference.begun = true;
  reference.exponent = exponent;
  reference.limit = hn::Set(d, static_cast<float>(exponent + kHeadroom) * kLn2High);
  reference.floor = hn::Set(d, static_cast<float>(exponent - kFloor) * kLn2High);
  reference.magic = hn::Set(d, kRoundMagic + static_cast<float>(127 - exponent));
}

// max(floor, x), NaN where x is NaN.
HWY_INLINE Floats raise(Floats floor, Floats x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(x, floor), floor, x);
#else
  return hn::Max(floor, x);  // x86 gives the second where one is NaN; NEON gives NaN
#endif
}

// lane + exp(x) / kExpScale * 2^-exponent. The product with a power of two is exact, so that fusing it with the sum
// costs no rounding of its own, and NaN stays NaN (adding exponent fields would turn it into a number).
HWY_INLINE Floats add_exp(const Reference& reference, Floats x, Floats lane) {
  const F32 d;
  const I32 di;
  x = raise(reference.floor, x);
  const Floats log2e = hn::Set(d, kLog2E);
  const Floats biased = fma(x, log2e, reference.magic);
  const Floats n = hn::Sub(biased, reference.magic);
  const Floats p = exp2_near_zero(fused_mul_sub(x, log2e, n));
  return fma(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, biased))), lane);
}

// The sum so far: lanes of the chunk under way, and of the chunks before in double.
struct Lanes {
  Floats lane[kVectors];
  HWY_ALIGN double total[kFoldedLanes];
};

// Lanes i and i + 32, then i and i + 16; then in double.
HWY_INLINE void close_chunk(Lanes& lanes) {
  const F32 d;
  for (int n = kVectors / 2; n * kWidth >= kFoldedLanes; n /= 2)
    for (int v = 0; v < n; ++v) lanes.lane[v] = hn::Add(lanes.lane[v], lanes.lane[v + n]);
  HWY_ALIGN float folded[kFoldedLanes];
  for (int v = 0; v * kWidth < kFoldedLanes; ++v) hn::Store(lanes.lane[v], d, folded + v * kWidth);
  for (int i = 0; i < kFoldedLanes; ++i) lanes.total[i] += static_cast<double>(folded[i]);
  for (int v = 0; v < kVectors; ++v) lanes.lane[v] = hn::Zero(d);
}

HWY_NOINLINE void rescale(Lanes& lanes, int octaves) {
  const Floats scale = hn::Set(F32(), octaves < -126 ? 0.0F : std::ldexp(1.0F, octaves));
  for (int v = 0; v < kVectors; ++v) lanes.lane[v] = hn::Mul(lanes.lane[v], scale);
  for (double& total : lanes.total) total = std::ldexp(total, octaves);
}

enum class Move { kDone, kEmptyBlock, kTooFar, kBad };

// Finds room for the block's largest x, or says why there is none.
HWY_INLINE Move move_exponent(const Floats* x, Reference& reference, Lanes& lanes) {
  const F32 d;
  const Floats infinity = hn::Set(d, kInfinity);
  auto good = hn::Lt(x[0], infinity);  // neither NaN nor +inf
  Floats top = x[0];
  for (int v = 1; v < kVectors; ++v) {
    good = hn::And(good, hn::Lt(x[v], infinity));
    top = hn::Max(top, x[v]);
  }
  if (!hn::AllTrue(d, good)) return Move::kBad;
  const float largest = hn::GetLane(hn::MaxOfLanes(d, top));
  if (largest == -kInfinity) return Move::kEmptyBlock;
  if (std::fabs(largest) > kHuge) return Move::kTooFar;
  const float octaves = largest * kLog2E;
  const auto exponent = static_cast<int32_t>(octaves + (octaves < 0.0F ? -0.5F : 0.5F));
  if (reference.begun) rescale(lanes, reference.exponent - exponent);
  set_exponent(reference, exponent);
  return Move::kDone;
}

// Adds a block; keeps the largest x of its columns, by lane, where asked to.
template <int32_t kDtype, bool kKeepMaxima>
HWY_INLINE Move add_block(const void* data, Reference& reference, Lanes& lanes, float* maxima) {
  const F32 d;
  Floats x[kVectors];
  load_block<kDtype>(data, x);
  Floats top = hn::Max(x[0], x[1 % kVectors]);
  for (int v = 2; v < kVectors; ++v) top = hn::Max(top, x[v]);
  if (kKeepMaxima) hn::StoreU(top, d, maxima);
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(top, reference.limit)))) {
    Lanes moved = lanes;  // a copy escapes; the lanes themselves stay in registers
    const Move move = move_exponent(x, reference, moved);
    if (move != Move::kDone) return move;
    lanes = moved;
  }
  for (int v = 0; v < kVectors; ++v) lanes.lane[v] = add_exp(reference, x[v], lanes.lane[v]);
  return Move::kDone;
}

HWY_INLINE PartialSum finish_sum(const Reference& reference, const Lanes& lanes, int64_t n) {
  if (!reference.begun) return {};
  double sum[kFoldedLanes];
  std::copy(lanes.total, lanes.total + kFoldedLanes, sum);
  for (int width = kFoldedLanes / 2; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
  const double octaves = reference.exponent + exponent_of(sum[0]) + 0.5 -
                         0.5 * static_cast<double>(std::bit_width(static_cast<uint64_t>(n)));
  const double z = kDeficit * kLn2 * octaves;  // |z| < 0.015
  return {0.0F, reference.exponent, sum[0] * (kExpScale * (1.0 + z * (1.0 + z * (0.5 + z * (1.0 / 6.0)))))};
}

inline constexpr PartialSum kBadSum = {0.0F, 0, std::numeric_limits<double>::quiet_NaN()};

// Fetches what is read next, of this row and of the one that follows: this loop is too long for the core to see a miss
// coming in time. What waits for the first-level cache is too little to keep the memory busy (2 KB ahead into it alone:
// 13.0 GB/s of rows side by side), so that lines are called into the second one from further away (16.3). Where rows lie
// apart, 8 KB behind the end of one are a waste as long as itself.
struct Ahead {
  uintptr_t end, jump;  // of the row; from there to the next one
  uintptr_t near = 4096, far = 8192;

  Ahead(const void* data, int64_t bytes, const void* next) : end(reinterpret_cast<uintptr_t>(data)), jump(0) {
    end += static_cast<uintptr_t>(bytes);
    if (next == nullptr || reinterpret_cast<uintptr_t>(next) == end) return;
    jump = reinterpret_cast<uintptr_t>(next) - end;
    near = std::min(near, static_cast<uintptr_t>(bytes));  // not beyond the next one
    far = std::min(far, static_cast<uintptr_t>(bytes));
  }
  // From `at` to what is that far ahead. Asked once a chunk: once a block cost 4 % in cache.
  uintptr_t offset(const char* at, uintptr_t distance) const {
    return reinterpret_cast<uintptr_t>(at) + distance < end ? distance : distance + jump;
  }
};

template <int64_t kBytes>
HWY_INLINE void fetch_ahead(const char* at, uintptr_t near, uintptr_t far) {
  const uintptr_t here = reinterpret_cast<uintptr_t>(at);
  for (uintptr_t line = 0; line < kBytes; line += 64) {
    __builtin_prefetch(reinterpret_cast<const void*>(here + near + line), 0, 3);
    __builtin_prefetch(reinterpret_cast<const void*>(here + far + line), 0, 2);
  }
}

// A row of plain elements whose x lie within reach of an integer exponent; false where they do not.
template <int32_t kDtype, bool kKeepMaxima>
HWY_NOINLINE bool sum_near(const void* data, int64_t n, const void* next, float* maxima, PartialSum& out) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_F32 ? 4 : 2;
  const char* at = static_cast<const char*>(data);
  const Ahead ahead(data, n * kBytes, next);
  Reference reference;
  reference.limit = reference.floor = reference.magic = hn::Set(F32(), std::numeric_limits<float>::quiet_NaN());
  Lanes lanes;
  for (int v = 0; v < kVectors; ++v) lanes.lane[v] = hn::Zero(F32());
  std::fill(lanes.total, lanes.total + kFoldedLanes, 0.0);
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t columns = std::min<int64_t>(kChunk, n - first), blocks = columns / kBlock, rest = columns % kBlock;
    const uintptr_t near = ahead.offset(at, ahead.near), far = ahead.offset(at, ahead.far);
    Move move = Move::kDone;
    for (int64_t b = 0; b < blocks; ++b, at += kBlock * kBytes) {
      fetch_ahead<kBlock * kBytes>(at, near, far);
      move = add_block<kDtype, kKeepMaxima>(at, reference, lanes, maxima);
      if (kKeepMaxima) maxima += kWidth;
      if (HWY_UNLIKELY(move > Move::kEmptyBlock)) break;
    }
    if (move <= Move::kEmptyBlock && rest > 0) {
      HWY_ALIGN char padded[kBlock * kBytes];
      pad_block<kDtype>(at, rest, padded);
      move = add_block<kDtype, kKeepMaxima>(padded, reference, lanes, maxima);
    }
    if (move == Move::kTooFar) return false;
    if (move == Move::kBad) {
      out = kBadSum;
      return true;
    }
    close_chunk(lanes);
  }
  out = finish_sum(reference, lanes, n);
  return true;
}

template <int32_t kDtype>
bool sum_near(const Elements& elements, int64_t n, float* maxima, PartialSum& out) {
  return maxima != nullptr ? sum_near<kDtype, true>(elements.data, n, elements.next, maxima, out)
                           : sum_near<kDtype, false>(elements.data, n, elements.next, nullptr, out);
}

// Calls visit(x, count) for the row's x in pieces.
inline constexpr int64_t kPiece = 4096;
template <class Visit>
inline void for_each_piece(const Elements& elements, int64_t n, const Visit& visit) {
  float x[kPiece + kVectorSlack];
  for (int64_t first = 0; first < n; first += kPiece) {
    const int64_t count = std::min(kPiece, n - first);
    load(elements, first, count, x);
    visit(x, first, count);
  }
}

// A row relative to its maximum. Differences of floats so large are exact or so large themselves that their exp is 0.
inline PartialSum sum_far(const Elements& elements, int64_t n) {
  float top = -kInfinity;
  for_each_piece(elements, n, [&](float* x, int64_t, int64_t count) { top = std::max(top, largest(x, count)); });
  if (top == kInfinity) return kBadSum;
  PartialSum total;
  for_each_piece(elements, n, [&](float* x, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x[i] = std::max(x[i] - top, x[i] == -kInfinity ? -kInfinity : -kHuge);
    PartialSum sum;
    sum_near<SIDBEAM_F32>({x}, count, nullptr, sum);
    total = merge(total, sum);
  });
  total.base = top;
  return total;
}

// Whether the row is within reach.
inline bool sum_transformed(const Elements& elements, int64_t n, float* maxima, PartialSum& out) {
  out = {};
  bool near = true;
  for_each_piece(elements, n, [&](float* x, int64_t first, int64_t count) {
    PartialSum sum;
    near =
        near && sum_near<SIDBEAM_F32>({x}, count, maxima == nullptr ? nullptr : maxima + first / kBlock * kWidth, sum);
    if (near) out = merge(out, sum);
  });
  return near;
}

inline PartialSum sum_exp(const Elements& elements, int64_t n, float* maxima) {
  PartialSum sum;
  bool near = false;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  if (maxima != nullptr) std::fill_n(maxima + blocks * kWidth, kGroup * kWidth, -kInfinity);
  if (elements.transformed()) {
    near = sum_transformed(elements, n, maxima, sum);
  } else if (elements.dtype == SIDBEAM_F32) {
    near = sum_near<SIDBEAM_F32>(elements, n, maxima, sum);
  } else if (elements.dtype == SIDBEAM_F16) {
    near = sum_near<SIDBEAM_F16>(elements, n, maxima, sum);
  } else {
    near = sum_near<SIDBEAM_BF16>(elements, n, maxima, sum);
  }
  if (near) return sum;
  if (maxima != nullptr) std::fill_n(maxima, blocks * kWidth, kInfinity);
  return sum_far(elements, n);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
