// Rules on the items of a catalogue: drawn for the oracle, and given to the library in one of many ways.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "case.h"
#include "oracle.h"

namespace differential {

// Entries of a list, in any order: some twice, some of no item.
struct DrawnList {
  bool by_row = false;
  std::vector<int64_t> entries;
  int64_t unknown = 0;
};

struct ItemRules {
  std::optional<std::vector<bool>> filter;  // by item row
  std::optional<DrawnList> excluded, allowed;
  bool any() const { return filter || excluded || allowed; }
};

// What rules leave of a catalogue, and where its SIDs and item rows are in the whole.
struct AllowedPart {
  ItemRules rules;
  oracle::Catalogue catalogue;
  std::vector<int64_t> ordinals, rows;
};

// Of the case's catalogue with this number, by Case::rules: 1: a filter, 2: excluded items, 4: an allow list, or'ed.
AllowedPart draw_rules(const Case& c, const oracle::Catalogue& whole, uint64_t which);

}  // namespace differential
