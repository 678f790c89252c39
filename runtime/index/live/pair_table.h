// Pairs by a hash of theirs, which others may have too. The newest is found first, and they are taken back in the order
// in which the newest goes first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "index/build/chunked_array.h"

namespace sidbeam {

class PairTable {
 public:
  explicit PairTable(const Allocator& allocator) : allocator_(allocator), entries_(allocator) {}

  // Makes room for so many pairs in all.
  void reserve(int64_t pairs) {
    entries_.reserve(pairs);
    if (pairs <= heads_.size()) return;
    const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(pairs, kFewest))));
    heads_ = Buffer<int64_t>(allocator_, size);
    std::fill(heads_.begin(), heads_.end(), -1);
    for (int64_t pair = 0; pair < count_; ++pair) link(pair);
  }
  // Pair number `count`, for which there is room.
  void add(uint64_t hash) noexcept {
    entries_[count_].hash = hash;
    link(count_++);
  }
  int64_t count() const { return count_; }
  int64_t bytes() const { return entries_.bytes() + heads_.bytes(); }
  // Forgets the pairs from `count` on.
  void cut(int64_t count) noexcept {
    while (count_ > count) {
      const Entry& entry = entries_[--count_];
      heads_[bucket(entry.hash)] = entry.before;
    }
  }
  // Fetch what will be read of a hash: where its pairs begin, and once that has come the first of them.
  void prefetch(uint64_t hash) const {
    if (count_ > 0) __builtin_prefetch(&heads_[bucket(hash)]);
  }
  void prefetch_first(uint64_t hash) const {
    const int64_t first = count_ > 0 ? heads_[bucket(hash)] : -1;
    if (first >= 0) __builtin_prefetch(&entries_[first]);
  }
  // Calls visit(pair) for those with this hash, until it returns false.
  template <class Visit>
  void for_each(uint64_t hash, const Visit& visit) const {
    if (count_ == 0) return;
    for (int64_t pair = heads_[bucket(hash)]; pair >= 0;) {
      const Entry& entry = entries_[pair];
      if (entry.hash == hash && !visit(pair)) return;
      pair = entry.before;
    }
  }

 private:
  static constexpr int64_t kFewest = 1024;
  struct Entry {
    uint64_t hash;
    int64_t before;  // the next older one in its bucket, or -1
  };
  int64_t bucket(uint64_t hash) const { return static_cast<int64_t>(hash & static_cast<uint64_t>(heads_.size() - 1)); }
  void link(int64_t pair) noexcept {
    Entry& entry = entries_[pair];
    int64_t& head = heads_[bucket(entry.hash)];
    entry.before = head;
    head = pair;
  }

  Allocator allocator_;
  ChunkedArray<Entry> entries_;
  Buffer<int64_t> heads_;  // a power of two, or none yet
  int64_t count_ = 0;
};

}  // namespace sidbeam
