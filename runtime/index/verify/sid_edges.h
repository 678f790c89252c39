// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/verify/bulk_kernels.h"
#include "index/views.h"

namespace sidbeam {

// Goes down the levels of a block of SIDs, given one code per SID. Finds which SIDs begin an edge and how long the rows
// of edges are.
class SidEdges {
 public:
  explicit SidEdges(const BulkKernels& kernels) : kernels_(kernels) {}

  // Begins the next block. `starts` [edges], ascending: the SIDs that begin an edge of the level above the first.
  void begin_block(uint32_t count, const uint16_t* starts, uint32_t edges);
  // Adds the next level down. Returns false if codes fall.
  bool add_level(int l, const uint16_t* codes);
  bool add_level(int l, const uint32_t* codes);
  // Whether every SID begins an edge of the last level added. After the last level: whether no SID occurs twice.
  bool all_begin() const { return all_begin_; }
  // [count] Which SIDs begin an edge of the last level added; unset if all do.
  const EdgeFlag* begins() const { return above_; }

  uint64_t edges(int l) const { return edges_[l]; }
  uint64_t longest(int l) const { return longest_[l]; }

 private:
  template <class Code, class Begins>
  bool add(int l, const Code* codes, Begins find_begins);
  void measure_rows(int l, uint32_t begun);
  uint32_t edges_before(uint16_t sid, uint32_t begun) const;
  void number_parents();

  // The level above: the starts of its edges, and which SIDs begin one. begins_ and start_ are the same for this level.
  alignas(64) uint16_t parent_[kSids];
  alignas(64) EdgeFlag above_[kSids];
  alignas(64) EdgeFlag begins_[kSids];
  alignas(64) uint16_t start_[kSids + 16];  // list() writes whole vectors
  const BulkKernels& kernels_;
  uint64_t edges_[kMaxLevels] = {}, longest_[kMaxLevels] = {};
  uint64_t row_[kMaxLevels] = {};  // edges so far of the row that is still open
  uint32_t last_code_[kMaxLevels] = {};
  uint32_t count_ = 0, parents_ = 0;
  bool all_begin_ = false;
};

}  // namespace sidbeam
