// SPDX-License-Identifier: Apache-2.0
#include "index/verify/sid_edges.h"

#include <algorithm>
#include <cstring>

namespace sidbeam {

void SidEdges::begin_block(uint32_t count, const uint16_t* starts, uint32_t edges) {
  count_ = count;
  parents_ = edges;
  all_begin_ = edges == count;
  std::fill_n(above_, count, all_begin_ ? 0xffff : 0);
  if (all_begin_) return;
  std::copy(starts, starts + edges, parent_);
  for (uint32_t k = 0; k < edges; ++k) above_[starts[k]] = 0xffff;
}

template <class Code, class Begins>
bool SidEdges::add(int l, const Code* codes, Begins find_begins) {
  const uint32_t before = last_code_[l];
  last_code_[l] = codes[count_ - 1];
  if (all_begin_) {
    row_[l] = 1;
    longest_[l] = std::max<uint64_t>(longest_[l], 1);
    edges_[l] += count_;
    return true;
  }
  const uint32_t begun = find_begins(codes, before, above_, count_, begins_);
  if (begun == kFalls) return false;
  edges_[l] += begun;
  measure_rows(l, begun);
  all_begin_ = begun == count_;
  std::memcpy(above_, begins_, sizeof begins_);
  return true;
}

bool SidEdges::add_level(int l, const uint16_t* codes) { return add(l, codes, kernels_.codes_16.begins); }

bool SidEdges::add_level(int l, const uint32_t* codes) { return add(l, codes, kernels_.codes_32.begins); }

// A row begins wherever an edge of the level above begins.
void SidEdges::measure_rows(int l, uint32_t begun) {
  if (begun == 0) return;  // nothing begins above either
  if (begun < count_) kernels_.list(begins_, count_, start_);
  if (parents_ == 0) {
    row_[l] += begun;
  } else {
    longest_[l] = std::max(longest_[l], row_[l] + edges_before(parent_[0], begun));
    row_[l] = begun - edges_before(parent_[parents_ - 1], begun);
    uint32_t widest = kernels_.widest_gap(parent_, parents_);
    // So far this is measured in SIDs. It is an upper bound on edges that rarely exceeds the longest row.
    if (begun < count_ && widest > longest_[l]) {
      number_parents();
      widest = kernels_.widest_gap(parent_, parents_);
    }
    longest_[l] = std::max<uint64_t>(longest_[l], widest);
  }
  longest_[l] = std::max(longest_[l], row_[l]);
  if (begun < count_) std::copy(start_, start_ + begun, parent_);
  parents_ = begun;
}

uint32_t SidEdges::edges_before(uint16_t sid, uint32_t begun) const {
  if (begun == count_) return sid;
  return static_cast<uint32_t>(std::lower_bound(start_, start_ + begun, sid) - start_);
}

// Translates the starts of parents from SIDs to edges.
void SidEdges::number_parents() {
  uint16_t rank[kSids], edges = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    rank[i] = edges;
    edges = static_cast<uint16_t>(edges + (begins_[i] & 1));
  }
  for (uint32_t k = 0; k < parents_; ++k) parent_[k] = rank[parent_[k]];
}

}  // namespace sidbeam
