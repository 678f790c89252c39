// What the shortcuts of verification (verify_plain.cc, verify_columns.cc) share: SIDs are gone through in blocks, level by
// level, with loops without branches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/verify.h"
#include "index/verify_kernels.h"
#include "index/views.h"

namespace sidbeam {

const PlainKernels& plain_kernels();

// An array that is summed as far as it is read, while what comes after is fetched.
struct Summed {
  SectionSums::Sum* sum = nullptr;
  uint64_t width = 0;

  Summed() = default;
  Summed(SectionSums& sums, const UintArray& array)
      : sum(sums.find(array.data)), width(static_cast<uint64_t>(array.width)) {}
  void reach(uint64_t count) const {
    add(count);
    fetch(count);
  }
  // The same in parts, for an array so dense that fetching in little steps pays.
  void add(uint64_t count) const {
    if (sum != nullptr) sum->reach(count * width);
  }
  void fetch(uint64_t count) const {
    if (sum != nullptr) sum->fetch_after(count * width);
  }
};

// The pairs of a hash set that the columns make, as far as they are read: the sum of their numbers (pair_number).
class SidPairs {
 public:
  explicit SidPairs(const IndexView& index);
  // Adds at least the first `end` SIDs. Nothing where there is no hash set.
  void reach(uint64_t end) {
    while (done_ < end) add_block();
  }
  uint64_t sum() const { return sum_; }

 private:
  void add_block();

  const IndexView& index_;
  const PlainKernels& kernels_;
  std::vector<uint32_t> codes_;  // [levels, kStride]
  uint64_t done_, sum_ = 0;
};

// The fingerprint, from the digests of the columns; adds the ids to the sums.
bool is_fingerprint_of(const Index& index, const std::vector<Stream128>& digests, SectionSums& sums);

// Levels at which every SID of a block has a code of its own: which of them begin an edge, and how long the rows of
// edges are.
class SidEdges {
 public:
  SidEdges() : kernels_(plain_kernels()) {}

  // The next block; `starts` [edges], which are rising, begin an edge of the level above the first.
  void begin_block(uint32_t count, const uint16_t* starts, uint32_t edges);
  // The next level down. False where codes fall.
  bool add_level(int l, const uint16_t* codes);
  bool add_level(int l, const uint32_t* codes);
  // Whether every SID begins an edge of the last level added: at the last of all, whether none is there twice.
  bool all_begin() const { return all_begin_; }
  // [count], which do; only where not all.
  const EdgeFlag* begins() const { return above_; }

  uint64_t edges(int l) const { return edges_[l]; }
  uint64_t longest(int l) const { return longest_[l]; }

 private:
  template <class Code, class Begins>
  bool add(int l, const Code* codes, Begins find_begins);
  void measure_rows(int l, uint32_t begun);
  uint32_t edges_before(uint16_t sid, uint32_t begun) const;
  void number_parents();

  // Where edges of the level above begin, which SIDs begin one, and the same of this level.
  alignas(64) uint16_t parent_[kSids];
  alignas(64) EdgeFlag above_[kSids];
  alignas(64) EdgeFlag begins_[kSids];
  alignas(64) uint16_t start_[kSids + 16];  // list() writes whole vectors
  const PlainKernels& kernels_;
  uint64_t edges_[kMaxLevels] = {}, longest_[kMaxLevels] = {};
  uint64_t row_[kMaxLevels] = {};  // edges so far of the row that goes on
  uint32_t last_code_[kMaxLevels] = {};
  uint32_t count_ = 0, parents_ = 0;
  bool all_begin_ = false;
};

}  // namespace sidbeam
