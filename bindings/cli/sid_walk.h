// The SIDs of an index, or of a version of a live catalogue, with their live item rows.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_SID_WALK_H
#define SIDBEAM_CLI_SID_WALK_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "abi.h"

namespace cli {

// In the order of SIDs, some thousands at a time. The ordinals of a version are in that order as far as its base goes;
// those that were added come after them, and are sorted first (8 bytes each).
class SidWalk {
 public:
  // The index must stay.
  explicit SidWalk(const sidbeam_index* index);

  // Goes to the next SID that has a live item; false at the end.
  bool next();
  std::span<const int32_t> sid() const { return sid_of(at_); }
  std::span<const int64_t> rows() const { return {rows_.data() + offsets_[at_], rows_.data() + offsets_[at_ + 1]}; }
  const sidbeam_index* index() const { return index_; }
  const sidbeam_index_info& info() const { return info_; }
  int64_t done() const { return done_; }  // ordinals, of info().sids

 private:
  std::span<const int32_t> sid_of(size_t i) const {
    return {codes_.data() + i * static_cast<size_t>(info_.levels), static_cast<size_t>(lengths_[i])};
  }
  std::vector<int32_t> read_sid(int64_t ordinal) const;
  void sort_added();
  int64_t next_ordinal();
  bool fill();

  const sidbeam_index* index_;
  sidbeam_index_info info_;
  std::vector<int64_t> added_;   // ordinals that are not in order, by SID
  int64_t base_ = 0, done_ = 0;  // ordinals that are in order; that have been read of all
  int64_t next_base_ = 0;
  size_t next_added_ = 0;
  std::vector<int32_t> base_sid_, added_sid_;  // of those that come next; empty: not read
  // Of the ordinals that are in memory.
  std::vector<int64_t> ordinals_, offsets_, rows_;
  std::vector<int32_t> codes_, lengths_;
  size_t at_ = 0;
};

// Whether a SID comes before another: code by code, the end of a SID after every code.
bool sid_before(std::span<const int32_t> a, std::span<const int32_t> b);

// The live item rows of all ordinals, in the order of these.
void each_live_sid(const sidbeam_index* index,
                   const std::function<void(int64_t ordinal, std::span<const int64_t> rows)>& take);

}  // namespace cli

#endif
