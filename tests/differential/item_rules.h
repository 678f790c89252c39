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

// A catalogue as the library numbers it: the ordinals of its SIDs, the rows of its items, and all rows, those included
// that have gone.
struct Numbered {
  struct Row {
    int64_t id = 0;
    bool live = true;
  };
  oracle::Catalogue catalogue;
  std::vector<int64_t> ordinals, rows;
  std::vector<Row> all;
};
// As a builder's index is: from 0 on.
Numbered numbered(const oracle::Catalogue& catalogue);

// What rules leave of a catalogue, and the library's numbers of its SIDs and items.
struct AllowedPart {
  ItemRules rules;
  oracle::Catalogue catalogue;
  std::vector<int64_t> ordinals, rows;
};

// Of the case's catalogue with this number, by Case::rules: 1: a filter, 2: excluded items, 4: an allow list, or'ed.
AllowedPart draw_rules(const Case& c, const Numbered& whole, uint64_t which);

}  // namespace differential
