// Live catalogues: what comes and goes until one has the content of a case, told to the library; and how its SIDs and
// item rows are then numbered, by what catalog.h promises. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "case.h"
#include "item_rules.h"
#include "oracle.h"

namespace differential {

// What becomes a version at once: items go, then pairs come or get another priority.
struct Turn {
  std::vector<int64_t> removed;  // ids
  std::vector<oracle::Pair> added;
  // By going back to the version before, which makes one more: after this one is published, or before.
  bool taken_back = false, dropped = false;
  // Afterwards; and then to the version before that, which has the former numbers.
  bool compacted = false, compacted_in_vain = false;
};

struct Story {
  std::vector<oracle::Pair> base;
  std::vector<Turn> turns;
  bool is_older = false;  // the beginning of the story before it, as a version of the same live catalogue
};

// Of the case's catalogue with this number, at whose end it has these pairs.
Story draw_story(const Case& c, const std::vector<int>& codes, const std::vector<oracle::Pair>& pairs, uint64_t which);
// The catalogue at its end.
Numbered numbered_by(const Story& story, const std::vector<int>& codes, bool variable);

}  // namespace differential
