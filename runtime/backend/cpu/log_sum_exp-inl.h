// The sum of exp over a row, in one pass, at the speed of memory.
//
// Columns are summed on 64 virtual lanes, whatever the width of a vector: column j on lane j mod 64 (for bf16, the two
// halves of a 32-bit word go to lanes w and w + 32, so that a shift and a mask unpack them). After 512 columns the
// lanes are folded to 16, which accumulate in double. The tree therefore depends only on the number of columns. A lane
// adds at most 8 terms and is folded twice; each rounding may cost 2^-24 of the sum if the first terms dominate it.
// Together with 2.5e-7 per term (exp_terms-inl.h) and 1.2e-7 (from the constant below), the relative error is at most
// 9.7e-7 for any row of 2^24 columns. (With 1024 columns per chunk some rows lost 1.03e-6.)
//
// Terms are relative to 2^exponent. The exponent is that of the first column; it moves (which is exact) only when a
// block of 64 columns has an x more than 31 octaves above it. Terms more than 95 octaves below it count as 2^-95.
// Beyond |x| = 2^17 a float cannot resolve steps of 1/32 octave; such a row is summed relative to its maximum.
//
// L, the float nearest log2(e), is 1.3e-8 below it: every exp(x) comes out as exp(x - kDeficit * x). Adding a low part
// of L would take one more operation per element. Instead the sum is multiplied by exp(kDeficit * mean), where mean is
// that of x under the softmax. It lies between the log-sum-exp minus log n and the log-sum-exp; taking the middle
// leaves an error of 8.4 * 1.3e-8 at n = 2^24.
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

#include "backend/cpu/copy-inl.h"
#include "backend/cpu/exp_terms-inl.h"
#include "backend/cpu/row_sums-inl.h"
#include "backend/cpu/rows-inl.h"
#include "backend/partial_sum.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int kFoldedLanes = 16;
inline constexpr float kHuge = 131072.0F;

// The sum of the completed chunks, relative to 2^exponent. The lanes and the window of the current chunk are kept
// outside it, because this object escapes and they must stay in registers.
struct Sum {
  HWY_ALIGN double total[kFoldedLanes] = {};
  int32_t exponent = 0;
  bool begun = false;
};

// Adds lanes i and i + 32, then i and i + 16. (A loop over n would keep the lanes out of registers.)
template <int n = kVectors>
HWY_INLINE void fold_lanes(Floats* lane) {
  if constexpr (n * kWidth > kFoldedLanes) {
    for (int v = 0; v < n / 2; ++v) lane[v] = hn::Add(lane[v], lane[v + n / 2]);
    fold_lanes<n / 2>(lane);
  }
}

// Adds the folded lanes to the totals in double.
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

// An integer near log2(exp(x)).
HWY_INLINE int32_t exponent_near(float x) { return static_cast<int32_t>(x * kLog2E); }

// Begins with the exponent of column 0, which is known sooner than that of a whole block. If column 0 is unsuitable,
// the window contains nothing, and move_exponent finds an exponent at the first block.
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

// The larger of the two; a NaN stays NaN.
HWY_INLINE Floats raise(Floats x, Floats floor) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(floor, x);  // of a NaN and a number, Max returns the second operand
#else
  return hn::IfThenElse(hn::Lt(x, floor), floor, x);
#endif
}

// Adds a block and, with kKeepMaxima, stores the largest x of its columns per lane. (Checking only once per chunk that
// all steps lie within the window, and restarting the chunk if not, gained 3 % of a step but lost up to 20 % with -inf
// in the rows.)
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

// Adds elements i and i + n / 2 until one is left.
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

// Prefetches the rest of this row and then the next row, because the loop is too long for the core to start misses in
// time by itself. The first-level cache has too few outstanding misses to keep the memory busy, so lines are also
// fetched into the second level from further ahead (table floors of the benchmark, rows from memory). If rows are not
// adjacent, the prefetch jumps to the next row instead of running 8 KB past the end of this one.
struct Ahead {
  uintptr_t end, jump;  // of the row; from there to the next row
  uintptr_t near = 4096, far = 8192;

  Ahead(const void* data, int64_t bytes, const void* next) : end(reinterpret_cast<uintptr_t>(data)), jump(0) {
    end += static_cast<uintptr_t>(bytes);
    if (next == nullptr || reinterpret_cast<uintptr_t>(next) == end) return;
    jump = reinterpret_cast<uintptr_t>(next) - end;
    near = std::min(near, static_cast<uintptr_t>(bytes));  // not beyond the next row
    far = std::min(far, static_cast<uintptr_t>(bytes));
  }
  // The offset from `at` to the address `distance` ahead. Computed once per chunk: once per block cost 4 % on rows in
  // cache.
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

// The offset of a block's maxima within its row's: after those of its group.
HWY_INLINE int64_t block_offset(int64_t block) { return (block + block / kGroup + 1) * kWidth; }

// Computes the maxima of groups from those of their blocks. (Doing so in the pass itself, which is bound by arithmetic,
// took a little longer.)
inline void find_group_maxima(float* maxima, int64_t groups) {
  const F32 d;
  for (; groups > 0; --groups, maxima += (1 + kGroup) * kWidth) {
    Floats top = hn::LoadU(d, maxima + kWidth);
    for (int i = 2; i <= kGroup; ++i) top = hn::Max(top, hn::LoadU(d, maxima + i * kWidth));
    hn::StoreU(top, d, maxima);
  }
}

// Sums a row of untransformed elements. False if |x| is too large for an integer exponent (kHuge). Aligned, so that
// what is linked before it does not decide where its loop lies in cache lines (up to 1.5 % on Zen 4).
template <int32_t kDtype, bool kKeepMaxima, class Copying>
HWY_NOINLINE __attribute__((aligned(64))) bool sum_near(const void* data, int64_t n, const void* next, float* maxima,
                                                        Copying copy, RowSum& out) {
  constexpr int64_t kBytes = kDtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  const char* at = static_cast<const char*>(data);
  const Ahead ahead(data, n * kBytes, next);
  Sum sum;
  if (n == 0) {
    out = {};
    return true;
  }
  Window window = first_window<kDtype>(data, sum);
  copy.begin(n / kBlock);
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t columns = std::min<int64_t>(kChunk, n - first), blocks = columns / kBlock, rest = columns % kBlock;
    Floats lane[kVectors];
    for (int v = 0; v < kVectors; ++v) lane[v] = hn::Zero(F32());
    const uintptr_t near = ahead.offset(at, ahead.near), far = ahead.offset(at, ahead.far);
    // Without maxima there is no address to offset.
    const auto maxima_of = [maxima](int64_t b) { return kKeepMaxima ? maxima + block_offset(b) : nullptr; };
    Move move = Move::kDone;
    for (int64_t b = 0; b < blocks; ++b, at += kBlock * kBytes) {
      fetch_ahead<kBlock * kBytes>(at, near, far);
      move = add_block<kDtype, kKeepMaxima>(at, window, lane, sum, maxima_of(b));
      if (HWY_UNLIKELY(move > Move::kEmptyBlock)) break;
      copy.go_on();
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
  copy.finish();
  out.sum = fold<kFoldedLanes>(sum.total);
  out.exponent = sum.exponent;
  out.whole = false;
  return true;
}

template <int32_t kDtype>
bool sum_near(const Elements& elements, int64_t n, float* maxima, RowSum& out) {
  return maxima != nullptr ? sum_near<kDtype, true>(elements.data, n, elements.next, maxima, NoCopy(), out)
                           : sum_near<kDtype, false>(elements.data, n, elements.next, nullptr, NoCopy(), out);
}

// Sums a row, and copies the elements of a list; `first` is the element of its code 0.
template <int32_t kDtype>
bool sum_and_copy(const Elements& elements, int64_t n, const void* first, uint32_t codes, RowCopy& copy, RowSum& out) {
  using Bits = std::conditional_t<kDtype == SIDBEAM_DTYPE_F32, uint32_t, uint16_t>;
  return copy.list.width == 2 ? sum_near<kDtype, false>(elements.data, n, elements.next, nullptr,
                                                        Copy<Bits, uint16_t>(first, codes, copy), out)
                              : sum_near<kDtype, false>(elements.data, n, elements.next, nullptr,
                                                        Copy<Bits, uint32_t>(first, codes, copy), out);
}

// Calls visit(x, first, count) for the row's x, piece by piece.
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

// Sums a row relative to its maximum. Differences of floats this large are exact, or so large that their exp is 0.
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

// False if |x| is too large for an integer exponent, as in sum_near.
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

// A row without transformation whose maxima are not kept.
inline void sum_and_copy_row(const Elements& elements, int64_t n, const void* first, uint32_t codes, RowCopy& copy,
                             RowSum& sum) {
  bool near = false;
  if (elements.dtype == SIDBEAM_DTYPE_F32) {
    near = sum_and_copy<SIDBEAM_DTYPE_F32>(elements, n, first, codes, copy, sum);
  } else if (elements.dtype == SIDBEAM_DTYPE_F16) {
    near = sum_and_copy<SIDBEAM_DTYPE_F16>(elements, n, first, codes, copy, sum);
  } else {
    near = sum_and_copy<SIDBEAM_DTYPE_BF16>(elements, n, first, codes, copy, sum);
  }
  if (!near) sum = row_sum_of(sum_far(elements, n));
}

inline void log_sum_exp(const RowsToSum& rows, LogSum* logs) {
  RowSum sums[kMostSummed + kVectorSlack];  // uninitialised: clearing it took 1 % of a step of 256 columns
  const auto column = [&](int32_t i) { return reinterpret_cast<const void*>(rows.address(i, rows.first_column)); };
  Elements row = rows.elements;
  for (int32_t i = 0; i < rows.count; ++i) {
    row.data = column(i);
    row.next = column(i + 1);
    float* maxima = rows.maxima != nullptr ? rows.maxima + i * rows.maxima_stride : nullptr;
    sums[i].whole = false;
    if (row.data == nullptr) continue;
    if (rows.copies != nullptr && rows.copies[i].list.count >= kCopied) {
      const auto* first = reinterpret_cast<const void*>(rows.address(i, rows.copied_column));
      sum_and_copy_row(row, rows.columns, first, rows.copied_codes, rows.copies[i], sums[i]);
    } else {
      sum_row(row, rows.columns, maxima, sums[i]);
    }
  }
  log_sums(sums, rows.count, rows.columns, logs);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
