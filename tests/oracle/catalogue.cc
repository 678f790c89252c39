// The oracle's catalogue: a sorted list, searched from end to end.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "oracle.h"

namespace oracle {
namespace {

// "The end of a SID after every code."
bool comes_before(const Sid& a, const Sid& b) {
  for (size_t l = 0; l < a.size() && l < b.size(); ++l) {
    if (a[l] != b[l]) return a[l] < b[l];
  }
  return a.size() > b.size();  // b ends where a has a code
}

}  // namespace

Catalogue make_catalogue(const std::vector<int>& codes, bool variable, std::vector<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    if (a.sid != b.sid) return comes_before(a.sid, b.sid);
    return std::pair{-a.priority, a.id} < std::pair{-b.priority, b.id};
  });
  Catalogue catalogue{codes, variable, {}, {}};
  for (const Pair& pair : pairs) {
    if (catalogue.sids.empty() || catalogue.sids.back() != pair.sid) {
      catalogue.sids.push_back(pair.sid);
      catalogue.items.emplace_back();
    }
    std::vector<int64_t>& items = catalogue.items.back();
    if (items.empty() || items.back() != pair.id) items.push_back(pair.id);
  }
  return catalogue;
}

bool starts_with(const Sid& sid, const Sid& prefix) {
  if (sid.size() < prefix.size()) return false;
  for (size_t l = 0; l < prefix.size(); ++l) {
    if (sid[l] != prefix[l]) return false;
  }
  return true;
}

bool has_prefix(const Catalogue& catalogue, const Sid& prefix) {
  for (const Sid& sid : catalogue.sids) {
    if (starts_with(sid, prefix)) return true;
  }
  return false;
}

int ordinal_of(const Catalogue& catalogue, const Sid& sid) {
  for (size_t i = 0; i < catalogue.sids.size(); ++i) {
    if (catalogue.sids[i] == sid) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> children(const Catalogue& catalogue, const Sid& prefix) {
  const size_t level = prefix.size();
  std::set<int> codes;
  if (level < catalogue.codes.size()) {
    for (const Sid& sid : catalogue.sids) {
      if (starts_with(sid, prefix)) codes.insert(sid.size() == level ? catalogue.codes[level] : sid[level]);
    }
  }
  return {codes.begin(), codes.end()};
}

ItemLists item_lists(const Catalogue& catalogue, const std::vector<int64_t>& ordinals, int64_t per_sid, int64_t total,
                     bool distinct, const Cap& cap) {
  ItemLists lists;
  std::set<int64_t> seen;             // ids, listed or cut
  std::map<int64_t, int64_t> counts;  // of listed rows, by value
  int64_t listed = 0;
  bool capped = false;
  for (int64_t ordinal : ordinals) {
    lists.rows.emplace_back();
    if (ordinal < 0) continue;
    int64_t row = 0;
    for (int64_t before = 0; before < ordinal; ++before)
      row += static_cast<int64_t>(catalogue.items[static_cast<size_t>(before)].size());
    for (int64_t id : catalogue.items[static_cast<size_t>(ordinal)]) {
      const std::vector<int64_t> values = cap.most > 0 ? cap.values[static_cast<size_t>(row)] : std::vector<int64_t>();
      const bool wanted = seen.insert(id).second || !distinct;
      const bool full = std::any_of(values.begin(), values.end(), [&](int64_t v) { return counts[v] == cap.most; });
      const bool fits =
          (per_sid == 0 || static_cast<int64_t>(lists.rows.back().size()) < per_sid) && (total == 0 || listed < total);
      if (wanted && full) capped = true;
      if (wanted && !full && !fits) lists.truncated = true;
      if (wanted && !full && fits) {
        lists.rows.back().push_back(row);
        ++listed;
        for (int64_t value : values) ++counts[value];
      }
      ++row;
    }
  }
  lists.came_short = capped && (total == 0 || listed < total);
  return lists;
}

}  // namespace oracle
