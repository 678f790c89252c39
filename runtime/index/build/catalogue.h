// The input of a builder in order of arrival: SIDs packed into words, ids and priorities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "index/views.h"
#include "sidbeam/builder.h"
#include "support/mapped_file.h"
#include "support/memory.h"

namespace sidbeam {

// Allocates a buffer on huge pages where the system has them: page faults on small pages would take a good part of a
// build.
template <class T>
Buffer<T> large_buffer(const Allocator& allocator, int64_t count) {
  Buffer<T> buffer(allocator, count);
  advise_huge_pages(buffer.data(), buffer.bytes());
  return buffer;
}

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
      chunks_.push_back(large_buffer<T>(allocator_, chunk_size(chunks_.size())));
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

// The place of each level's code in a key of 64-bit words. Level 0 takes the highest bits of word 0 and no code
// straddles words, so comparing keys word by word compares the SIDs.
struct KeyLayout {
  struct Place {
    uint8_t word = 0, shift = 0, bits = 0;
  };
  int levels = 0, words = 0;
  bool variable_length = false;
  uint32_t codes[kMaxLevels] = {};
  Place place[kMaxLevels];
  int word_bits[kMaxLevels] = {};             // bits in use, counted from the lowest
  uint8_t level_of_bit[kMaxLevels][64] = {};  // [word][bit]

  KeyLayout(int levels, const int32_t* codes, bool variable_length);
  uint32_t code(int level, uint64_t word) const {
    return static_cast<uint32_t>(word >> place[level].shift & ((uint64_t{1} << place[level].bits) - 1));
  }
  // The first level at which two keys differ, given the first of their words that differ.
  int first_difference(int word, uint64_t a, uint64_t b) const {
    return level_of_bit[word][63 - std::countl_zero(a ^ b)];
  }
};

// Throws INVALID_ARGUMENT if the configuration is invalid.
void check_config(const sidbeam_builder_config& config);

struct Catalogue {
  Catalogue(const sidbeam_builder_config& config, const Allocator& allocator);

  // The arguments of one call of add, which adds all pairs or throws and adds none.
  struct Pairs {
    const int32_t* codes = nullptr;
    const int32_t* lengths = nullptr;
    int64_t count = 0;
    const int64_t* ids = nullptr;
    const char* id_bytes = nullptr;
    const int64_t* id_offsets = nullptr;
    const int64_t* priorities = nullptr;
    // Instead of codes and lengths, ids, and priorities, of other layouts: each writes pairs [begin, begin + count) of
    // the call, on the building threads. The first returns whether all have `levels` codes, and otherwise has written
    // their lengths; what is no code it writes as -1.
    std::function<bool(int64_t begin, int64_t count, int32_t* codes, int32_t* lengths)> read_codes;
    std::function<void(int64_t begin, int64_t count, int64_t*out)> read_ids, read_priorities;
    const std::string_view* names = nullptr;  // [count], instead of id_bytes and id_offsets

    bool has_ids() const { return ids != nullptr || read_ids; }
    bool has_names() const { return id_offsets != nullptr || names != nullptr; }
    bool has_priorities() const { return priorities != nullptr || read_priorities; }
  };
  void add(const Pairs& pairs, int threads);

  // What was added since a mark can be taken back.
  struct Mark {
    int64_t rows;
    bool has_ids, has_priorities;
    size_t name_chunks;
    int64_t name_room;
  };
  Mark mark() const { return {rows, has_ids, has_priorities, name_chunks.size(), name_room_}; }
  void rewind(const Mark& to);

  // Frees the keys, which are redundant after the sort.
  void release_words() { words.clear(); }

  int64_t id(int64_t row) const { return has_ids ? ids[row] : row; }
  int64_t priority(int64_t row) const { return has_priorities ? priorities[row] : 0; }
  int64_t bytes() const;

  Allocator allocator;
  KeyLayout layout;
  IdType id_type;
  int64_t rows = 0;
  bool has_ids = false;                       // the pairs came with integer ids
  bool has_priorities = false;                // some priority may be other than 0
  std::vector<ChunkedArray<uint64_t>> words;  // one array per word of the key
  ChunkedArray<int64_t> ids;
  ChunkedArray<std::string_view> names;  // views into name_chunks
  std::vector<Buffer<char>> name_chunks;
  ChunkedArray<int64_t> priorities;

 private:
  void check_ids(const Pairs& pairs) const;
  void reserve(const Pairs& pairs);
  bool pack_word(const int32_t* codes, int64_t count, int word, uint64_t* out) const;
  void pack_row(const Pairs& pairs, int64_t i, int64_t row);
  void pack(const Pairs& pairs, int64_t begin, int64_t end, int64_t first);
  void pack_read(const Pairs& pairs, int64_t begin, int64_t end);
  char* room_for_names(int64_t bytes);
  void copy_names(const Pairs& pairs);
  void copy_scattered_names(const Pairs& pairs);

  int64_t name_room_ = 0;  // unused bytes at the end of the last chunk of names
};

}  // namespace sidbeam
