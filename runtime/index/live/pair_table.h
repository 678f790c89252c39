// Pairs by a hash of theirs, which others may have too. The newest is found first, and they are taken back in the order
// in which the newest goes first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sidbeam {

class PairTable {
 public:
  // Pair number size().
  void add(uint64_t hash) {
    if (pairs_.size() >= heads_.size()) grow();
    link(hash, static_cast<int64_t>(pairs_.size()));
  }
  int64_t bytes() const {
    return static_cast<int64_t>(pairs_.capacity() * sizeof(Entry) + heads_.capacity() * sizeof(int64_t));
  }
  // Forgets the pairs from `size` on.
  void cut(size_t size) {
    while (pairs_.size() > size) {
      heads_[pairs_.back().hash & (heads_.size() - 1)] = pairs_.back().before;
      pairs_.pop_back();
    }
  }
  void prefetch(uint64_t hash) const {
    if (!heads_.empty()) __builtin_prefetch(&heads_[hash & (heads_.size() - 1)]);
  }
  // Calls visit(pair) for those with this hash, until it returns false.
  template <class Visit>
  void for_each(uint64_t hash, const Visit& visit) const {
    if (heads_.empty()) return;
    for (int64_t pair = heads_[hash & (heads_.size() - 1)]; pair >= 0;) {
      const Entry& entry = pairs_[static_cast<size_t>(pair)];
      if (entry.hash == hash && !visit(pair)) return;
      pair = entry.before;
    }
  }

 private:
  static constexpr size_t kFewest = 1024;
  struct Entry {
    uint64_t hash;
    int64_t before;  // the next older one in its bucket, or -1
  };
  void link(uint64_t hash, int64_t pair) {
    int64_t& head = heads_[hash & (heads_.size() - 1)];
    pairs_.push_back({hash, head});
    head = pair;
  }
  void grow() {
    std::vector<Entry> before;
    before.reserve(pairs_.size() + 1);
    std::vector<int64_t> heads(heads_.empty() ? kFewest : 2 * heads_.size(), -1);
    before.swap(pairs_);
    heads.swap(heads_);
    for (const Entry& entry : before) link(entry.hash, static_cast<int64_t>(pairs_.size()));
  }

  std::vector<Entry> pairs_;
  std::vector<int64_t> heads_;  // a power of two, or none yet
};

}  // namespace sidbeam
