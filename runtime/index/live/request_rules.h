// The lists of one request, of the tries of an index or of a snapshot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/live/tries.h"
#include "index/rules/lists.h"

namespace sidbeam {

// Memory for them, to be used again for another request's.
class RequestRules {
 public:
  // What the lists are taken from: what a filter leaves (nullptr: all).
  struct Of {
    const Tries& tries;
    const RulesView* filter = nullptr;
  };
  // Rows of the snapshot. `before` (may be null) is of the same tries and filter; its excluded rows are excluded too.
  void exclude(const Of& of, const SortedRows& rows, const RequestRules* before, const Allocator& allocator);
  // Allows those rows alone that the filter allows.
  void allow_only(const Of& of, const SortedRows& rows, const Allocator& allocator);

  // Valid until the next call, where this stays in its place.
  const RulesView& view() const { return view_; }
  int64_t rows() const { return base_.rows() + (has_delta() ? delta_.rows() : 0); }  // that are listed
  // Writes the numbers of those rows to out [rows()], rising.
  void listed_rows(const IndexView& index, uint64_t* out) const;
  int64_t bytes() const { return base_.bytes() + delta_.bytes() + all_.bytes() + split_.bytes(); }

 private:
  bool has_delta() const { return view_.delta != nullptr; }
  SortedRows split(const Tries& tries, SortedRows& rows, const Allocator& allocator);
  void join(const Of& of, const Allocator& allocator);

  RequestLists base_, delta_;
  Buffer<LevelRules> all_;  // of merged rows, without a filter
  Buffer<uint64_t> split_;
  RulesView view_, of_delta_, of_merged_;
};

}  // namespace sidbeam
