// Arrays of the builder, which grow without being copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "support/memory.h"

namespace sidbeam {

// An array that grows in chunks, the first of which double in size. Growing copies nothing, and an element is found by
// arithmetic.
template <class T>
class ChunkedArray {
 public:
  explicit ChunkedArray(const Allocator& allocator) : allocator_(allocator) {}

  // Makes room for `count` elements in total; existing ones stay where they are.
  void reserve(int64_t count) {
    while (capacity_ < count) {
      chunks_.reserve(chunks_.size() + 1);
      chunks_.emplace_back(allocator_, chunk_size(chunks_.size()));
      capacity_ += chunks_.back().size();
    }
  }
  // The capacity after reserve(count). It does not depend on how many calls of reserve() led there.
  static int64_t capacity_for(int64_t count) {
    int64_t capacity = 0;
    for (size_t chunk = 0; capacity < count && chunk <= kDoublings; ++chunk) capacity += chunk_size(chunk);
    return capacity < count ? capacity + (count - capacity + kLargest - 1) / kLargest * kLargest : capacity;
  }
  T& operator[](int64_t i) {
    const Place place = place_of(i);
    return chunks_[place.chunk][place.offset];
  }
  const T& operator[](int64_t i) const { return const_cast<ChunkedArray&>(*this)[i]; }
  int64_t bytes() const { return capacity_ * static_cast<int64_t>(sizeof(T)); }
  bool empty() const { return capacity_ == 0; }
  // How many elements are contiguous from i on.
  int64_t run(int64_t i) const {
    const Place place = place_of(i);
    return chunks_[place.chunk].size() - place.offset;
  }

 private:
  static constexpr int64_t kFirst = 1024, kLargest = int64_t{1} << 22;  // elements per chunk
  static constexpr size_t kDoublings = 12;
  static_assert(kFirst << kDoublings == kLargest);
  static int64_t chunk_size(size_t chunk) { return kFirst << (chunk < kDoublings ? chunk : kDoublings); }

  struct Place {
    size_t chunk;
    int64_t offset;
  };
  static Place place_of(int64_t i) {
    const auto shifted = static_cast<uint64_t>(i + kFirst);
    if (shifted >= kLargest) return {kDoublings + shifted / kLargest - 1, static_cast<int64_t>(shifted % kLargest)};
    const int chunk = std::countl_zero(static_cast<uint64_t>(kFirst)) - std::countl_zero(shifted);
    return {static_cast<size_t>(chunk), i + kFirst - (kFirst << chunk)};
  }

  Allocator allocator_;
  std::vector<Buffer<T>> chunks_;
  int64_t capacity_ = 0;
};

// Calls visit(i, element) with the element that place i of `from` names, for i from `begin` to `end`.
template <class T, class Visit>
void gather(const ChunkedArray<T>& array, const uint64_t* from, int64_t begin, int64_t end, const Visit& visit) {
  constexpr int64_t kAhead = 24;  // cache misses to overlap
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) __builtin_prefetch(&array[static_cast<int64_t>(from[i + kAhead])]);
    visit(i, array[static_cast<int64_t>(from[i])]);
  }
}

}  // namespace sidbeam
