// What a request's lists say of the merged rows of an overlay, as they do of other rows: entries that they take away
// or, of an allow list, those that they leave. For devices, which read a merged row like any other; the CPU's step asks
// the two tries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/live/tries.h"
#include "index/rules/lists.h"
#include "support/memory.h"

namespace sidbeam {

class MergedLists {
 public:
  // Of the lists of `rules`, a snapshot's. No more numbers at a level than there are listed item rows.
  MergedLists(const Tries& tries, const RulesView& rules, const Allocator& allocator);
  // Borrows from this: lists alone.
  const RulesView& view() const { return view_; }

 private:
  std::vector<StoredList> lists_;
  Buffer<LevelRules> levels_;
  RulesView view_;
};

}  // namespace sidbeam
