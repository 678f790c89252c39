// Lists what may follow a prefix, for tools and tests. A step has its own, faster ways.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/rules/subset.h"
#include "index/views.h"

namespace sidbeam {

struct ChildCount {
  int64_t count = 0;
  bool end = false;  // the prefix is itself a SID
};

// Counts the codes that may follow a prefix of `length` < levels codes under rules (nullptr: none) of a trie. Writes
// the first `capacity` of them, in ascending order.
ChildCount children_of(const IndexView& index, const RulesView* rules, const int32_t* prefix, int32_t length,
                       int32_t* tokens, int64_t capacity);

}  // namespace sidbeam
