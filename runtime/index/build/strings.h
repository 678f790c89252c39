// Text in the builder's memory, and distinct strings with numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "index/build/chunked_array.h"

namespace sidbeam {

// Bytes that stay where they are.
class TextRoom {
 public:
  struct Mark {
    size_t chunks;
    int64_t room;
  };

  explicit TextRoom(const Allocator& allocator) : allocator_(allocator) {}

  // Room for `bytes` next to each other.
  char* take(int64_t bytes);
  Mark mark() const { return {chunks_.size(), room_}; }
  // Gives back what was taken since.
  void rewind(const Mark& to);
  int64_t bytes() const;

 private:
  Allocator allocator_;
  std::vector<Buffer<char>> chunks_;
  int64_t room_ = 0;  // unused bytes at the end of the last chunk
};

// Distinct strings, numbered in the order in which they came.
class Strings {
 public:
  explicit Strings(const Allocator& allocator);

  // The number of `text`, which is copied when it comes for the first time.
  uint32_t number_of(std::string_view text);
  std::string_view operator[](uint32_t number) const { return entries_[number].text; }
  // Whether the string comes for the first time in this list, of all numbered from 1.
  bool is_first_in(uint32_t number, int64_t list);
  int64_t count() const { return count_; }
  int64_t bytes() const { return text_.bytes() + entries_.bytes() + slots_.bytes(); }

 private:
  struct Entry {
    std::string_view text;
    uint64_t hash = 0;
    int64_t list = 0;  // the last one that it was in
  };
  void grow();

  Allocator allocator_;
  uint64_t seed_;  // a secret, so that nobody can choose strings that crowd the table; numbers do not depend on it
  TextRoom text_;
  ChunkedArray<Entry> entries_;
  int64_t count_ = 0;
  Buffer<uint32_t> slots_;  // a power of two of them, at least half of them 0, else 1 + the number of a string
};

}  // namespace sidbeam
