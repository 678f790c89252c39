// SPDX-License-Identifier: Apache-2.0
#include "item_rules.h"

#include <algorithm>
#include <set>

namespace differential {
namespace {

// Numbers in 0 .. 1000 per mille: none, few, half, most, all.
constexpr uint64_t kDensities[] = {0, 30, 300, 500, 900, 985, 1000};

struct Drawer {
  const Case& c;
  const std::vector<Numbered::Row>& rows;
  uint64_t which;

  uint64_t draw(uint64_t what, uint64_t more = 0) const {
    return mix(static_cast<uint64_t>(c.seed), kDrawRules, which, what, more);
  }
  bool with_density(uint64_t what, uint64_t i) const {
    return draw(what, i + 1) % 1000 < kDensities[draw(what) % std::size(kDensities)];
  }
  DrawnList list(uint64_t what) const {
    DrawnList drawn;
    drawn.by_row = draw(what) % 2 == 0;
    for (size_t row = 0; row < rows.size(); ++row)
      if (with_density(what + 1, row)) drawn.entries.push_back(drawn.by_row ? static_cast<int64_t>(row) : rows[row].id);
    const size_t known = drawn.entries.size();
    for (size_t i = 0; i < known; i += 3) drawn.entries.push_back(drawn.entries[i]);  // twice
    for (const int64_t stranger : {int64_t{-77}, int64_t{1} << 40, static_cast<int64_t>(rows.size())})
      if (draw(what + 2, static_cast<uint64_t>(stranger)) % 2 != 0) drawn.entries.push_back(stranger);
    std::set<int64_t> there;
    for (size_t row = 0; row < rows.size(); ++row)
      if (drawn.by_row || rows[row].live) there.insert(drawn.by_row ? static_cast<int64_t>(row) : rows[row].id);
    drawn.unknown = std::count_if(drawn.entries.begin(), drawn.entries.end(),
                                  [&](int64_t entry) { return there.count(entry) == 0; });
    if (draw(what + 3) % 2 == 0) {
      std::sort(drawn.entries.begin(), drawn.entries.end());
    } else {
      for (size_t i = drawn.entries.size(); i > 1; --i)
        std::swap(drawn.entries[i - 1], drawn.entries[draw(what + 4, i) % i]);
    }
    return drawn;
  }
};

bool names(const DrawnList& list, int64_t row, int64_t id) {
  return std::find(list.entries.begin(), list.entries.end(), list.by_row ? row : id) != list.entries.end();
}

}  // namespace

Numbered numbered(const oracle::Catalogue& catalogue) {
  Numbered result;
  result.catalogue = catalogue;
  for (const std::vector<int64_t>& items : catalogue.items) {
    result.ordinals.push_back(std::ssize(result.ordinals));
    for (const int64_t id : items) {
      result.rows.push_back(std::ssize(result.rows));
      result.all.push_back({id, true});
    }
  }
  return result;
}

AllowedPart draw_rules(const Case& c, const Numbered& whole, uint64_t which) {
  const Drawer drawer{c, whole.all, which};
  AllowedPart part;
  if ((c.rules & 1) != 0) {
    part.rules.filter.emplace();
    for (size_t row = 0; row < whole.all.size(); ++row) part.rules.filter->push_back(drawer.with_density(10, row));
  }
  if ((c.rules & 2) != 0) part.rules.excluded = drawer.list(20);
  if ((c.rules & 4) != 0) part.rules.allowed = drawer.list(30);
  part.catalogue.codes = whole.catalogue.codes;
  part.catalogue.variable = whole.catalogue.variable;
  size_t next = 0;
  for (size_t i = 0; i < whole.catalogue.sids.size(); ++i) {
    std::vector<int64_t> items;
    for (const int64_t id : whole.catalogue.items[i]) {
      const ItemRules& rules = part.rules;
      const int64_t row = whole.rows[next++];
      const bool allowed = (!rules.filter || (*rules.filter)[static_cast<size_t>(row)]) &&
                           (!rules.excluded || !names(*rules.excluded, row, id)) &&
                           (!rules.allowed || names(*rules.allowed, row, id));
      if (!allowed) continue;
      items.push_back(id);
      part.rows.push_back(row);
    }
    if (items.empty()) continue;
    part.catalogue.sids.push_back(whole.catalogue.sids[i]);
    part.catalogue.items.push_back(items);
    part.ordinals.push_back(whole.ordinals[i]);
  }
  return part;
}

}  // namespace differential
