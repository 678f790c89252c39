// The bulk loops of verification. One file per instruction set includes this header and is compiled for that set.
// Nothing in here may be shared with other files at link time, so it uses no functions of the standard library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/verify/bulk_slots.h"
#include "index/verify/invariants.h"
#include "support/cpu_target.h"
#ifdef __AVX512BW__
#include <immintrin.h>
#endif

namespace sidbeam {

// Whether a SID begins an edge: all ones or 0. As wide as most codes, so that a loop over both handles as many per
// vector.
using EdgeFlag = uint16_t;
inline constexpr uint32_t kFalls = ~uint32_t{0};
inline constexpr uint32_t kPointers = 32;  // pointers that follow() handles at once

// The top bit of a word of a compact trie's tail marks a SID that begins an edge.
template <class Word>
inline constexpr Word kMark = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));

// Loops over codes of 2 or 4 bytes.
template <class Code>
struct CodeLoops {
  uint32_t (*falls)(const Code*, uint32_t count);
  uint32_t (*expand)(const Code*, const uint16_t* starts, uint32_t count, uint32_t* out);
  bool (*equal)(const Code*, const uint32_t*, uint32_t count);
  uint32_t (*begins)(const Code*, uint32_t before, const EdgeFlag* above, uint32_t count, EdgeFlag* out);
  uint32_t (*unmark)(const Code*, uint32_t count, uint32_t* out, bool& all_marked);
  bool (*are_marks)(const Code*, const EdgeFlag*, uint32_t count);
};

// Loops over pointers and ordinals of 4 or 8 bytes.
template <class Pointer>
struct PointerLoops {
  bool (*counts)(const Pointer*, uint64_t count, uint64_t first);
  uint32_t (*follow)(const Pointer*, uint64_t count, uint64_t base, uint64_t last, uint16_t* out, uint64_t& widest);
  bool (*rise)(const Pointer*, uint64_t count, uint64_t& jumps, uint64_t& widest);
  uint32_t (*used)(const uint64_t* keys, const Pointer* ordinals, uint32_t count, UsedSlots& out);
};

struct BulkKernels {
  CpuTarget target;  // the loops are compiled for it
  CodeLoops<uint16_t> codes_16;
  CodeLoops<uint32_t> codes_32;
  PointerLoops<uint32_t> pointers_32;
  PointerLoops<uint64_t> pointers_64;
  uint32_t (*widen)(const uint16_t*, uint32_t count, uint32_t* out);
  uint32_t (*most)(const uint32_t*, uint32_t count);
  uint32_t (*list)(const EdgeFlag*, uint32_t count, uint16_t* out);
  uint32_t (*widest_gap)(const uint16_t*, uint32_t count);
  void (*transpose)(const uint16_t* rows, uint64_t width, uint32_t count, uint16_t* columns, uint64_t stride);
  bool (*are_reached)(const UsedSlots&, uint32_t used, uint64_t begin, const Probing& probing, uint64_t& sum);
  void (*add_digits)(const uint32_t* digits, uint64_t radix, uint32_t count, uint64_t* keys);
  uint64_t (*sum_pairs)(const uint64_t* keys, uint64_t mask, const Probing& probing, uint64_t ordinal, uint32_t count);
};

// May be used only if the machine supports the target.
extern const BulkKernels kAvx2BulkKernels, kAvx512BulkKernels;

const BulkKernels& bulk_kernels(CpuTarget target);

namespace {

// Whether the values are first, first + 1, ...
template <class T>
bool counts(const T* values, uint64_t count, uint64_t first) {
  T differs = 0;
  for (uint64_t i = 0; i < count; ++i) differs |= static_cast<T>(values[i] ^ static_cast<T>(first + i));
  return differs == 0;
}

// Writes pointers [0, count), each less `base`. Adds to `below` how many are < last, and raises `widest` to the largest
// gap between neighbours. Returns whether all rise.
template <class T>
__attribute__((always_inline)) inline bool follow_some(const T* pointers, uint32_t count, T base, T last, uint16_t* out,
                                                       uint32_t& below, T& widest) {
  T falls = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const T pointer = pointers[i], before = (pointers - 1)[i], gap = pointer - before;
    falls |= rises(before, pointer) ? 0 : 1;
    widest = gap > widest ? gap : widest;
    below += pointer < last;
    out[i] = static_cast<uint16_t>(pointer - base);
  }
  return falls == 0;
}

// Writes the pointers < last, each less `base`, and returns their number. Raises `widest` to the largest gap between
// neighbours. All must rise, starting from pointers[-1]. Returns kFalls if they do not, or if all are < last. May read
// a few pointers beyond, which should rise too, and write as many more.
template <class T>
uint32_t follow(const T* pointers, uint64_t count, uint64_t base, uint64_t last, uint16_t* out, uint64_t& widest) {
  const T base_of = static_cast<T>(base), last_of = static_cast<T>(last);
  uint32_t below = 0;
  T gap = 0;
  for (uint64_t done = 0; done < count;) {
    const auto some = static_cast<uint32_t>(count - done < kPointers ? count - done : kPointers);
    // The first call has a count known at compile time.
    const bool rise = some == kPointers
                          ? follow_some(pointers + done, kPointers, base_of, last_of, out + done, below, gap)
                          : follow_some(pointers + done, some, base_of, last_of, out + done, below, gap);
    done += some;
    if (!rise) return kFalls;
    if (below == done) continue;
    widest = gap > widest ? gap : widest;
    return below;
  }
  return kFalls;
}

// Whether all values rise, starting from values[-1]. Adds to `jumps` how many rise by more than 1.
template <class T>
bool rise(const T* values, uint64_t count, uint64_t& jumps, uint64_t& widest) {
  T falls = 0, by_more = 0, most = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const T value = values[i], before = (values - 1)[i], gap = value - before;
    falls |= rises(before, value) ? 0 : 1;
    by_more += gap > 1 ? 1 : 0;
    most = gap > most ? gap : most;
  }
  jumps += by_more;
  widest = most > widest ? most : widest;
  return falls == 0;
}

// How many of values[0, count) do not rise from the value before; reads values[-1].
template <class T>
uint32_t falls(const T* values, uint32_t count) {
  uint32_t falls = 0;
  for (uint32_t i = 0; i < count; ++i) falls += !rises((values - 1)[i], values[i]);
  return falls;
}

// Widens the values; returns the greatest.
uint32_t widen(const uint16_t* in, uint32_t count, uint32_t* out) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t value = in[i];
    out[i] = value;
    most = value > most ? value : most;
  }
  return most;
}

// Repeats each value from its start to the next start (starts[count] ends the last one); returns the greatest. Writes
// eight at a time, because runs are short; the next run overwrites the surplus.
template <class T>
uint32_t expand(const T* values, const uint16_t* starts, uint32_t count, uint32_t* out) {
  using Eight = uint32_t __attribute__((vector_size(32)));
  uint32_t most = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t value = values[k];
    const Eight eight = value - Eight{};
    most = value > most ? value : most;
    __builtin_memcpy(out + starts[k], &eight, sizeof eight);
    for (uint32_t i = starts[k] + 8u, end = starts[k + 1]; i < end; i += 8)
      __builtin_memcpy(out + i, &eight, sizeof eight);
  }
  return most;
}

uint32_t most(const uint32_t* values, uint32_t count) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; ++i) most = values[i] > most ? values[i] : most;
  return most;
}

template <class T>
bool equal(const T* values, const uint32_t* others, uint32_t count) {
  uint32_t differs = 0;
  for (uint32_t i = 0; i < count; ++i) differs |= values[i] ^ others[i];
  return differs == 0;
}

// Flags which of count < 2^16 SIDs begin an edge, and returns their number. Returns kFalls if a code falls although its
// SID begins no edge above.
template <class T>
uint32_t begins(const T* codes, uint32_t before, const EdgeFlag* above, uint32_t count, EdgeFlag* out) {
  out[0] = begins_edge(above[0] != 0, before, uint32_t{codes[0]}) ? 0xffff : 0;
  auto falls = static_cast<uint16_t>(is_in_order(above[0] != 0, before, uint32_t{codes[0]}) ? 0 : 0xffff);
  auto begun = static_cast<uint16_t>(out[0] & 1);
  for (uint32_t i = 1; i < count; ++i) {
    const T code = codes[i], last = (codes - 1)[i];
    const auto begin = static_cast<uint16_t>(above[i] | (begins_edge(false, last, code) ? 0xffff : 0));
    falls = static_cast<uint16_t>(falls | ((is_in_order(false, last, code) ? 0 : 0xffff) & ~above[i]));
    begun = static_cast<uint16_t>(begun - begin);
    out[i] = begin;
  }
  return falls != 0 ? kFalls : begun;
}

// Lists the positions of the flags that are set and returns their number. Branch-free, since branches would be
// unpredictable. May write up to sixteen more.
uint32_t list(const EdgeFlag* flags, uint32_t count, uint16_t* out) {
  uint32_t set = 0, i = 0;
#ifdef __AVX512BW__
  __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 16 <= count; i += 16) {
    const __mmask16 mask = _mm256_movepi16_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + set),
                        _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, places)));
    places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
    set += static_cast<uint32_t>(__builtin_popcount(mask));
  }
#endif
  for (; i < count; ++i) {
    out[set] = static_cast<uint16_t>(i);
    set += flags[i] & 1;
  }
  return set;
}

// The largest gap between neighbours of rising values.
uint32_t widest_gap(const uint16_t* values, uint32_t count) {
  uint16_t widest = 0;
  for (uint32_t i = 1; i < count; ++i) {
    const auto gap = static_cast<uint16_t>(values[i] - (values - 1)[i]);
    widest = gap > widest ? gap : widest;
  }
  return widest;
}

// Two vectors of eight words.
using Words = uint16_t __attribute__((vector_size(32)));

// Passes vectors by reference because baseline x86-64 has no registers of that size and no settled way to pass them by
// value. Joins two halves because a load that spans two recent stores would stall.
inline void load_two(const uint16_t* first, const uint16_t* second, Words& out) {
  using Half = uint16_t __attribute__((vector_size(16)));
  Half low, high;
  __builtin_memcpy(&low, first, sizeof low);
  __builtin_memcpy(&high, second, sizeof high);
  out = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Interleaves a and b within each half: the lower words into `low`, the upper ones into `high`.
inline void zip(const Words& a, const Words& b, Words& low, Words& high) {
  low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
  high = __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Transposes the first eight columns of rows of `width` words; column c begins at columns + c * stride. Handles whole
// groups of sixteen rows only. Reads eight words per row, even if a row has fewer.
void transpose(const uint16_t* rows, uint64_t width, uint32_t count, uint16_t* columns, uint64_t stride) {
  for (uint32_t i = 0; i + 16 <= count; i += 16) {
    Words from[8], to[8];
    for (uint32_t r = 0; r < 8; ++r, rows += width) load_two(rows, rows + 8 * width, from[r]);
    rows += 8 * width;
    // Each turn rotates the bits of (column, row) by one; three turns swap column and row.
    for (int turn = 0; turn < 3; ++turn) {
      for (uint32_t r = 0; r < 4; ++r) zip(from[r], from[r + 4], to[2 * r], to[2 * r + 1]);
      for (uint32_t r = 0; r < 8; ++r) from[r] = to[r];
    }
    for (uint32_t c = 0; c < 8; ++c) __builtin_memcpy(columns + c * stride + i, &from[c], sizeof from[c]);
  }
}

// Removes the marks (the top bits) from the words; returns the greatest.
template <class T>
uint32_t unmark(const T* words, uint32_t count, uint32_t* out, bool& all_marked) {
  T most = 0, all = kMark<T>;
  for (uint32_t i = 0; i < count; ++i) {
    const auto code = static_cast<T>(words[i] & ~kMark<T>);
    out[i] = code;
    most = code > most ? code : most;
    all &= words[i];
  }
  all_marked = all != 0;
  return most;
}

// Whether exactly those words are marked that are flagged.
template <class T>
bool are_marks(const T* words, const EdgeFlag* flags, uint32_t count) {
  uint16_t differs = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto flag = static_cast<EdgeFlag>(words[i] >= kMark<T> ? 0xffff : 0);
    differs = static_cast<uint16_t>(differs | (flag ^ flags[i]));
  }
  return differs == 0;
}

template <class T>
constexpr CodeLoops<T> kCodeLoops = {falls<T>, expand<T>, equal<T>, begins<T>, unmark<T>, are_marks<T>};
template <class T>
constexpr PointerLoops<T> kPointerLoops = {counts<T>, follow<T>, rise<T>, used<T>};

constexpr BulkKernels kTheseBulkKernels = {kCompiledFor,
                                           kCodeLoops<uint16_t>,
                                           kCodeLoops<uint32_t>,
                                           kPointerLoops<uint32_t>,
                                           kPointerLoops<uint64_t>,
                                           widen,
                                           most,
                                           list,
                                           widest_gap,
                                           transpose,
                                           are_reached,
                                           add_digits,
                                           sum_pairs};

}  // namespace
}  // namespace sidbeam
