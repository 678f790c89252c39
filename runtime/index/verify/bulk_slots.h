// The bulk loops over a hash set, compiled per instruction set as part of bulk_kernels.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/verify/invariants.h"
#include "support/hashing.h"
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

namespace sidbeam {

// SIDs per block. If most prefixes have one continuation, a block this small often contains no others and then costs no
// work.
inline constexpr uint32_t kSids = 512;
inline constexpr uint32_t kSidStride = kSids + 32;  // a power of two would map all columns to the same cache sets

// Odd numbers, drawn anew for each verification, by which pair_number() multiplies.
struct PairMix {
  uint64_t first, second, third;
};

// How a lookup walks the slots, and how their pairs are numbered.
struct Probing {
  KeyMix mix;
  PairMix pairs;
  uint64_t mask, furthest;  // capacity - 1; the largest distance from where a key begins
};

inline constexpr uint32_t kStray = ~uint32_t{0};

// The used slots of a block: their numbers and contents, and for each slot how many used slots precede it without an
// empty one between.
struct UsedSlots {
  alignas(64) uint64_t keys[kSids + 8], ordinals[kSids + 8], slots[kSids + 8], run[kSids];
};

namespace {

// Lists the used slots; returns their number, or kStray if an empty slot has an ordinal. Branch-free, since branches
// would be unpredictable.
template <class T>
uint32_t used(const uint64_t* keys, const T* ordinals, uint32_t count, UsedSlots& out) {
  uint32_t used = 0, i = 0;
  T stray = 0;
#ifdef __AVX512DQ__
  __m512i strays = _mm512_setzero_si512(), slots = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 8 <= count; i += 8) {
    const __m512i key = _mm512_loadu_si512(keys + i);
    __m512i ordinal;
    if constexpr (sizeof(T) == 4) {
      ordinal = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(ordinals + i)));
    } else {
      ordinal = _mm512_loadu_si512(ordinals + i);
    }
    const __mmask8 at_key = _mm512_cmpneq_epi64_mask(key, _mm512_set1_epi64(static_cast<int64_t>(kEmptySlot)));
    strays = _mm512_mask_or_epi64(strays, static_cast<__mmask8>(~at_key), strays, ordinal);
    _mm512_storeu_si512(out.keys + used, _mm512_maskz_compress_epi64(at_key, key));
    _mm512_storeu_si512(out.ordinals + used, _mm512_maskz_compress_epi64(at_key, ordinal));
    _mm512_storeu_si512(out.slots + used, _mm512_maskz_compress_epi64(at_key, slots));
    slots = _mm512_add_epi64(slots, _mm512_set1_epi64(8));
    used += static_cast<uint32_t>(__builtin_popcount(at_key));
  }
  stray = static_cast<T>(_mm512_reduce_or_epi64(strays));
#endif
  const uint32_t done = used;
  for (; i < count; ++i) {
    out.slots[used] = i;
    const bool at_key = is_used(keys[i]);
    stray |= stray_ordinal(at_key, ordinals[i]);
    used += at_key;
  }
  for (uint32_t k = done; k < used; ++k) {
    out.keys[k] = keys[out.slots[k]];
    out.ordinals[k] = ordinals[out.slots[k]];
  }
  return stray == 0 ? used : kStray;
}

// A number for a pair of mixed key and ordinal. The sum over a set of pairs identifies the set as a 64-bit hash would.
// The order of the pairs does not matter, so neither SIDs nor slots need random reads. (If the multipliers were known,
// a file's author could choose other pairs of the same sum.)
__attribute__((always_inline)) inline uint64_t pair_number(const PairMix& by, uint64_t mixed, uint64_t ordinal) {
  uint64_t number = mixed * by.first;
  number = ((number ^ number >> 32) + ordinal) * by.second;
  number = (number ^ number >> 32) * by.third;
  return number ^ number >> 32;
}

// Whether a lookup reaches every slot from where its key begins. Adds the pairs to `sum`.
bool are_reached(const UsedSlots& used, uint32_t count, uint64_t begin, const Probing& probing, uint64_t& sum) {
  const Probing by = probing;
  uint64_t cut_off = 0, pairs = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t mixed = mix_key(by.mix, used.keys[k]), run = used.run[k];
    const uint64_t distance = (begin + used.slots[k] - mixed) & by.mask;
    cut_off |= is_reached(distance, run, by.furthest) ? 0 : 1;
    pairs += pair_number(by.pairs, mixed, used.ordinals[k]);
  }
  sum += pairs;
  return cut_off == 0;
}

// Appends a digit to mixed-radix keys.
void add_digits(const uint32_t* digits, uint64_t radix, uint32_t count, uint64_t* keys) {
  for (uint32_t i = 0; i < count; ++i) keys[i] = keys[i] * radix + digits[i];
}

// Sums the pairs of consecutive SIDs, using the masked bits of their keys.
uint64_t sum_pairs(const uint64_t* keys, uint64_t mask, const Probing& probing, uint64_t ordinal, uint32_t count) {
  const Probing by = probing;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += pair_number(by.pairs, mix_key(by.mix, keys[i] & mask), ordinal + i);
  return sum;
}

}  // namespace
}  // namespace sidbeam
