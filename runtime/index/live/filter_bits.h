// What a set of item rows leaves of an index or of a snapshot, at every level of its tries and of their merged rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "index/live/merged_bits.h"
#include "index/live/tries.h"
#include "index/rules/derived.h"

namespace sidbeam {

// Item rows of which it has changed whether they are in and live, rising.
struct ChangedRows {
  const uint64_t* rows;
  int64_t count;
  bool same_delta;  // false: they are those of the base alone, and the delta is another
};

class FilterBits {
 public:
  // `rows` are bits of all item rows, those after the last 0, and stay the caller's as long as this does; `live`, which
  // may be null, are those of a snapshot that have not gone.
  FilterBits(const Tries& tries, const uint64_t* rows, const uint64_t* live, int threads, const Allocator& allocator);
  // The same as a change of `before`, of an index of the same base.
  FilterBits(const Tries& tries, const uint64_t* rows, const uint64_t* live, const FilterBits& before,
             const ChangedRows& changed, int threads, const Allocator& allocator);
  FilterBits(const FilterBits&) = delete;
  FilterBits& operator=(const FilterBits&) = delete;

  // Borrows from this.
  const RulesView& view() const { return view_; }
  uint64_t sids() const { return sid_count_; }  // that are allowed
  int64_t bytes() const;

 private:
  const uint64_t* take_rows(const Tries& tries, const uint64_t* rows, const uint64_t* live, const Allocator& allocator);
  void join(const Tries& tries, int threads, const Allocator& allocator);

  Buffer<uint64_t> base_rows_, delta_rows_;  // empty where the caller's are the same
  std::optional<DerivedBits> base_, delta_;
  std::optional<MergedBits> merged_;
  RulesView view_, of_delta_, of_merged_;
  uint64_t sid_count_ = 0;
};

}  // namespace sidbeam
