// The priorities of item rows, which an index keeps on request. No step needs them, so that they are no part of the
// IndexView that devices have. Nothing is trusted: damage gives other priorities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/views.h"

namespace sidbeam {

struct PrioritiesView {
  bool kept = false;
  int64_t least = 0, greatest = 0;
  UintArray above;  // [items] how much each exceeds the least; absent where all are equal
};

inline bool has_priorities(const PrioritiesView& view) { return view.kept; }
// Of an item row < items, where there are priorities.
inline int64_t item_priority(const PrioritiesView& view, uint64_t row) {
  return static_cast<int64_t>(static_cast<uint64_t>(view.least) + (view.above ? view.above[row] : 0));
}

}  // namespace sidbeam
