// Sets of numbers as bits in 64-bit words, lowest first. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "index/rules/subset.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

inline void put_bit(uint64_t* bits, uint64_t i, bool value) {
  const uint64_t mask = uint64_t{1} << i % 64;
  bits[i / 64] = value ? bits[i / 64] | mask : bits[i / 64] & ~mask;
}

// Uninitialised but for the last word, and with the further word that bits_from() asks for.
inline Buffer<uint64_t> make_bits(uint64_t count, const Allocator& allocator) {
  Buffer<uint64_t> bits(allocator, static_cast<int64_t>((count + 63) / 64 + 1));
  std::fill(bits.end() - std::min<int64_t>(bits.size(), 2), bits.end(), uint64_t{0});
  return bits;
}

// make_bits() of no number, and of all of them.
inline Buffer<uint64_t> zero_bits(uint64_t count, const Allocator& allocator) {
  Buffer<uint64_t> bits = make_bits(count, allocator);
  std::fill(bits.begin(), bits.end(), uint64_t{0});
  return bits;
}

inline Buffer<uint64_t> all_bits(uint64_t count, const Allocator& allocator) {
  Buffer<uint64_t> bits = make_bits(count, allocator);
  std::fill_n(bits.data(), count / 64, ~uint64_t{0});
  if (count % 64 != 0) bits[static_cast<int64_t>(count / 64)] = (uint64_t{1} << count % 64) - 1;
  return bits;
}

// Sorts numbers, and leaves those that come an odd number of times.
inline void keep_odd(std::vector<uint64_t>& numbers) {
  if (!std::is_sorted(numbers.begin(), numbers.end())) std::sort(numbers.begin(), numbers.end());
  auto to = numbers.begin();
  for (auto from = numbers.begin(); from != numbers.end();) {
    const auto next = std::find_if(from, numbers.end(), [from](uint64_t number) { return number != *from; });
    if ((next - from) % 2 != 0) *to++ = *from;
    from = next;
  }
  numbers.erase(to, numbers.end());
}

// Sets the bits of `some` [n] that are below `count`.
inline void put_bits(uint64_t* bits, uint64_t count, const UintArray& some, uint64_t n, bool value) {
  for (uint64_t i = 0; i < n; ++i)
    if (some[i] < count) put_bit(bits, some[i], value);
}

// The number of the first `count` bits that are set, of words whose other bits are not.
inline uint64_t count_bits(const uint64_t* words, uint64_t count) {
  uint64_t set = 0;
  for (uint64_t w = 0; w < (count + 63) / 64; ++w) set += bits_set(words[w]);
  return set;
}

// Whether any of bits [begin, end) is set.
inline bool any_of(const uint64_t* bits, uint64_t begin, uint64_t end) {
  for (; begin + 64 < end; begin += 64)
    if (bits_from(bits, begin) != 0) return true;
  return begin < end && (bits_from(bits, begin) & (~uint64_t{0} >> (64 - (end - begin)))) != 0;
}

// How many of bits [begin, end) are set.
inline uint64_t count_of(const uint64_t* bits, uint64_t begin, uint64_t end) {
  uint64_t count = 0;
  for (; begin + 64 < end; begin += 64) count += bits_set(bits_from(bits, begin));
  return begin < end ? count + bits_set(bits_from(bits, begin) & (~uint64_t{0} >> (64 - (end - begin)))) : count;
}

}  // namespace sidbeam
