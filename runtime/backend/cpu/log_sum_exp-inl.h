// The sum of exp over a row, in one pass, at the speed of memory.
//
// Columns are summed on 64 virtual lanes whatever the width of a vector: column j on lane j mod 64 (bf16: the two
// halves of a 32-bit word on lanes w and w + 32, so that a shift and a mask unpack them). After 512 columns the lanes
// are folded to 16 and carried on in double. So the tree depends on the number of columns alone. A lane adds at most 8
// terms and is folded twice; each rounding may cost 2^-24 of the whole where the first terms are all that counts. With
// 2.5e-7 per term (exp_terms-inl.h) and 9.3e-8 (the constant below): 9.4e-7 relative, however the terms conspire. (With
// 1024 columns per chunk some rows lost 1.03e-6.)
//
// Terms are taken relative to 2^exponent: that of the first column, moved, exactly, only when a block of 64 columns has
// an x more than 31 octaves above it. Terms more than 95 octaves below count as 2^-95. Where |x| passes 2^17 a step of
// 1/32 octave cannot be told from its neighbours; such a row is summed relative to its maximum.
//
// L, the float nearest log2(e), is 1.3e-8 below it: every exp(x) comes out as exp(x - kDeficit * x). Instead of one
// more operation per element (a low part of L), the sum is multiplied by exp(kDeficit * mean), where the mean of x
// under the softmax lies between the log-sum-exp and that less log n: taken in the middle, 7 * 1.3e-8 are left at n =
// 2^20.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_LOG_SUM_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_LOG_SUM_EXP_INL
#undef SIDBEAM_CPU_LOG_SUM_EXP_INL
#else
#define SIDBEAM_CPU_LOG_SUM_EXP_INL
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "backend/cpu/exp_terms-inl.h"
#include "backend/cpu/row_sums-inl.h"
#include "backend/cpu/rows-inl.h"
#include "backend/partial_sum.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kFoldedLanes = 16;
inline constexpr float kHuge = 131072.0F;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The sum of the chunks before, relative to 2^exponent. The lanes and the window of the current chunk are kept apart:
// this object escapes, and they must stay in registers.
struct Sum {
  HWY_ALIGN double total[kFoldedLanes] = {};
  int32_t exponent = 0;
  bool begun = false;
};

// Lanes i and i + 32, then i and i + 16. (A loop over n would keep the lanes out of registers.)
template <int n = kVectors>
HWY_INLINE void fold_lanes(Floats* lane) {
  if constexpr (n * kWidth > kFoldedLanes) {
    for (int v = 0; v < n / 2; ++v) lane[v] = hn::Add(lane[v], lane[v + n / 2]);
    fold_lanes<n / 2>(lane);
  }
}

// Folded further in double.
HWY_INLINE void close_chunk(Floats* lane, Sum& sum) {
  fold_lanes(lane);
  HWY_ALIGN float folded[kFoldedLanes];
  for (int v = 0; v < kFoldedLanes / kWidth; ++v) hn::Store(lane[v], F32(), folded + v * kWidth);
  for (int i = 0; i < kFoldedLanes; ++i) sum.total[i] += static_cast<double>(folded[i]);
}

HWY_INLINE Floats max_of(const Floats* x) {
  Floats top = hn::Max(x[0], x[1 % kVectors]);
  for (int v = 2; v < kVectors; ++v) top = hn::Max(top, x[v]);
  return top;
}

// Not far from log2(exp(x)).
HWY_INLINE int32_t exponent_near(float x) { return static_cast<int32_t>(x * kLog2E); }

// Begins with the exponent of column 0: shorter to wait for than that of a block. Of a column that will not do, or is
// far from the others, the window has none: move_exponent will find one.
template <int32_t kDtype>
HWY_INLINE Window first_window(const void* data, Sum& sum) {
  using Element = std::conditional_t<kDtype == SIDBEAM_DTYPE_F32, float,
                                     std::conditional_t<kDtype == SIDBEAM_DTYPE_F16, F16, Bf16>>;
  const float x = float_of(*static_cast<const Element*>(data));
  sum.begun = std::fabs(x) <= kHuge;
  if (sum.begun) {
    sum.exponent = exponent_near(x);
    return window_of(sum.exponent);
  }
  const Floats nan = hn::Set(F32(), std::numeric_limits<float>::quiet_NaN());
  return {nan, nan, nan, nan};
}

enum class Move { kDone, kEmptyBlock, kTooFar, kBad };

struct Moved {
  Move move;
  float scale;  // of the lanes
};

// Moves the exponent to the block's largest x, or says why it cannot.
template <int32_t kDtype>
HWY_NOINLINE Moved move_exponent(const void* block, Sum& sum) {
  const F32 d;
  Floats x[kVectors];
  load_block<kDtype>(block, x);
  const Floats infinity = hn::Set(d, kInfinity);
  auto good = hn::Lt(x[0], infinity);  // neither NaN nor +inf
  for (int v = 1; v < kVectors; ++v) good = hn::And(good, hn::Lt(x[v], infinity));
  if (!hn::AllTrue(d, good)) return {Move::kBad, 0.0F};
  const float largest = largest_lane(max_of(x));
  if (largest == -kInfinity) return {Move::kEmptyBlock, 0.0F};
  if (std::fabs(largest) > kHuge) return {Move::kTooFar, 0.0F};
  const int32_t exponent = exponent_near(largest);
  const int down = sum.exponent - exponent;
  sum.exponent = exponent;
  if (!sum.begun) {
    sum.begun = true;
    return {Move::kDone, 0.0F};
  }
  for (double& total : sum.total) total = std::ldexp(total, down);
  return {Move::kDone, down < -126 ? 0.0F : std::ldexp(1.0F, down)};
}

// The larger one; a NaN stays.
HWY_INLINE Floats raise(Floats x, Floats floor) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(floor, x);  // of a NaN and a number the second one
#else
  return hn::IfThenElse(hn::Lt(x, floor), floor, x);
#endif
}

// Adds a block; keeps the largest x of its columns, by lane, where asked to. (To ask once a chunk whether all steps lie
// within the window, and begin it anew where not, gained 3 % of a step, and lost up to 20 % of one with -inf in its
// rows.)
template <int32_t kDtype, bool kKeepMaxima>
HWY_INLINE Move add_block(const void* data, Window& window, Floats* lane, Sum& sum, float* maxima) {
  const F32 d;
  Floats x[kVectors], step[kVectors];
  load_block<kDtype>(data, x);
  if (kKeepMaxima) hn::StoreU(max_of(x), d, maxima);
  for (int v = 0; v < kVectors; ++v) step[v] = step_of(window, x[v]);
  if (HWY_UNLIKELY(!all_within(step, kVectors))) {
    if (!hn::AllTrue(d, hn::Le(max_of(x), window.limit))) {
      const Moved moved = move_exponent<kDtype>(data, sum);
      if (moved.move != Move::kDone) return moved.move;
      window = window_of(sum.exponent);
      for (int v = 0; v < kVectors; ++v) lane[v] = hn::Mul(lane[v], hn::Set(d, moved.scale));
    }
    for (int v = 0; v < kVectors; ++v) x[v] = raise(x[v], window.floor);
    for (int v = 0; v < kVectors; ++v) step[v] = step_of(window, x[v]);
  }
  for (int v = 0; v < kVectors; ++v) lane[v] = add_exp(window, x[v], step[v], lane[v]);
  return Move::kDone;
}

// Elements i and i + n / 2, until there is one.
template <int n>
HWY_INLINE double fold(const double* x) {
  if constexpr (n == 1) {
    return x[0];
  } else {
    double half[n / 2];
    for (int i = 0; i < n / 2; ++i) half[i] = x[i] + x[i + n / 2];
    return fold<n / 2>(half);
  }
}

inline constexpr RowSum kBadSum = {std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0F, true};

// Fetches what is read next, of this row and of the one that follows: this loop is too long for the core to see a miss
// coming in time. What waits for the first-level cache is too little to keep the memory busy (2 KB ahead into it alone:
// 13.0 GB/s of rows side by side), so that lines are called into the second one from further away (16.3). Where rows
// lie apart, 8 KB behind the end of one are a waste as long as itself.
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

// Where the maxima of a block are among those of a row: behind its group's.
HWY_INLINE int64_t block_offset(int64_t block) { return (block + block / kGroup + 1) * kWidth; }

// The maxima of groups, from those of their blocks. (In the pass itself, which is bound by its operations, they took a
// little longer.)
inline void find_group_maxima(float* maxima, int64_t groups) {
  const F32 d;
  for (; groups > 0; --groups, maxima += (1 + kGroup) * kWidth) {
    Floats top = hn::LoadU(d, maxima + kWidth);
    for (int i = 2; i <= kGroup; ++i) top = hn::Max(top, hn::LoadU(d, maxima + i * kWidth));
    hn::StoreU(top, d, maxima);
  }
}

// A row of plain elements whose x lie within reach of an integer exponent; false where they do not.
template <int32_t kDtype, bool kKeepMaxima>
HWY_NOINLINE bool sum_near(const void* data, int64_t n, const void* next, float* maxima, RowSum& out) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  const char* at = static_cast<const char*>(data);
  const Ahead ahead(data, n * kBytes, next);
  Sum sum;
  if (n == 0) {
    out = {};
    return true;
  }
  Window window = first_window<kDtype>(data, sum);
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t columns = std::min<int64_t>(kChunk, n - first), blocks = columns / kBlock, rest = columns % kBlock;
    Floats lane[kVectors];
    for (int v = 0; v < kVectors; ++v) lane[v] = hn::Zero(F32());
    const uintptr_t near = ahead.offset(at, ahead.near), far = ahead.offset(at, ahead.far);
    // Where none are kept there is no address to move on from.
    const auto maxima_of = [maxima](int64_t b) { return kKeepMaxima ? maxima + block_offset(b) : nullptr; };
    Move move = Move::kDone;
    for (int64_t b = 0; b < blocks; ++b, at += kBlock * kBytes) {
      fetch_ahead<kBlock * kBytes>(at, near, far);
      move = add_block<kDtype, kKeepMaxima>(at, window, lane, sum, maxima_of(b));
      if (HWY_UNLIKELY(move > Move::kEmptyBlock)) break;
    }
    if (move <= Move::kEmptyBlock && rest > 0) {
      HWY_ALIGN char padded[kBlock * kBytes];
      pad_block<kDtype>(at, rest, padded);
      move = add_block<kDtype, kKeepMaxima>(padded, window, lane, sum, maxima_of(blocks));
    }
    if (kKeepMaxima) maxima += block_offset(kChunk / kBlock) - block_offset(0);
    if (move == Move::kTooFar) return false;
    if (move == Move::kBad) {
      out = kBadSum;
      return true;
    }
    close_chunk(lane, sum);
  }
  out.sum = fold<kFoldedLanes>(sum.total);
  out.exponent = sum.exponent;
  out.whole = false;
  return true;
}

template <int32_t kDtype>
bool sum_near(const Elements& elements, int64_t n, float* maxima, RowSum& out) {
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
  if (top == kInfinity) return {0.0F, 0, std::numeric_limits<double>::quiet_NaN()};
  PartialSum total;
  for_each_piece(elements, n, [&](float* x, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x[i] = std::max(x[i] - top, x[i] == -kInfinity ? -kInfinity : -kHuge);
    RowSum sum;
    sum_near<SIDBEAM_DTYPE_F32>({x}, count, nullptr, sum);
    total = merge(total, whole_sum(sum, count));
  });
  total.base = top;
  return total;
}

// Whether the row is within reach.
inline bool sum_transformed(const Elements& elements, int64_t n, float* maxima, PartialSum& out) {
  out = {};
  bool near = true;
  for_each_piece(elements, n, [&](float* x, int64_t first, int64_t count) {
    RowSum sum;
    near = near &&
           sum_near<SIDBEAM_DTYPE_F32>(
               {x}, count, maxima == nullptr ? nullptr : maxima + first / kGroupColumns * (1 + kGroup) * kWidth, sum);
    if (near) out = merge(out, whole_sum(sum, count));
  });
  return near;
}

inline void sum_row(const Elements& elements, int64_t n, float* maxima, RowSum& sum) {
  bool near = false;
  const int64_t groups = (n + kGroupColumns - 1) / kGroupColumns, group = (1 + kGroup) * kWidth;
  if (maxima != nullptr && n > 0) std::fill_n(maxima + (groups - 1) * group, group, -kInfinity);
  if (elements.transformed()) {
    PartialSum whole;
    near = sum_transformed(elements, n, maxima, whole);
    sum = row_sum_of(whole);
  } else if (elements.dtype == SIDBEAM_DTYPE_F32) {
    near = sum_near<SIDBEAM_DTYPE_F32>(elements, n, maxima, sum);
  } else if (elements.dtype == SIDBEAM_DTYPE_F16) {
    near = sum_near<SIDBEAM_DTYPE_F16>(elements, n, maxima, sum);
  } else {
    near = sum_near<SIDBEAM_DTYPE_BF16>(elements, n, maxima, sum);
  }
  if (near && maxima != nullptr) find_group_maxima(maxima, groups);
  if (near) return;
  if (maxima != nullptr) std::fill_n(maxima, groups * group, kInfinity);
  sum = row_sum_of(sum_far(elements, n));
}

inline void sum_exp(const Elements& elements, int64_t n, float* maxima, PartialSum& sum) {
  RowSum row;
  sum_row(elements, n, maxima, row);
  sum = whole_sum(row, n);
}

inline void log_sum_exp(const RowsToSum& rows, LogSum* logs) {
  RowSum sums[kMostSummed + kVectorSlack];  // not set: to do so took 1 % of a step of 256 columns
  const auto column = [&](int32_t i) { return reinterpret_cast<const void*>(rows.address(i, rows.first_column)); };
  Elements row = rows.elements;
  for (int32_t i = 0; i < rows.count; ++i) {
    row.data = column(i);
    row.next = column(i + 1);
    float* maxima = rows.maxima != nullptr ? rows.maxima + i * rows.maxima_stride : nullptr;
    sums[i].whole = false;
    if (row.data != nullptr) sum_row(row, rows.columns, maxima, sums[i]);
  }
  log_sums(sums, rows.count, rows.columns, logs);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
