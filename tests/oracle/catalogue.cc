// The oracle's catalogue: a sorted list, searched from end to end.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "oracle.h"

namespace oracle {
namespace {

// "The end of a SID after every code": pad with a number above all codes and compare.
Sid padded(Sid sid, size_t levels) {
  sid.resize(levels, std::numeric_limits<int>::max());
  return sid;
}

}  // namespace

Catalogue make_catalogue(const std::vector<int>& codes, bool variable, const std::vector<Pair>& pairs) {
  struct Entry {
    Sid sid;
    std::set<std::pair<int64_t, int64_t>> items;  // (-priority, id)
  };
  std::map<Sid, Entry> entries;  // in the order of padded SIDs
  for (const Pair& pair : pairs) {
    Entry& entry = entries[padded(pair.sid, codes.size())];
    entry.sid = pair.sid;
    entry.items.insert({-pair.priority, pair.id});
  }
  Catalogue catalogue{codes, variable, {}, {}};
  for (const auto& [key, entry] : entries) {
    catalogue.sids.push_back(entry.sid);
    catalogue.items.emplace_back();
    for (const auto& item : entry.items) catalogue.items.back().push_back(item.second);
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
                     bool distinct) {
  ItemLists lists;
  std::set<int64_t> seen;  // ids, listed or cut
  int64_t listed = 0;
  for (int64_t ordinal : ordinals) {
    lists.rows.emplace_back();
    if (ordinal < 0) continue;
    int64_t row = 0;
    for (int64_t before = 0; before < ordinal; ++before)
      row += static_cast<int64_t>(catalogue.items[static_cast<size_t>(before)].size());
    for (int64_t id : catalogue.items[static_cast<size_t>(ordinal)]) {
      const bool wanted = seen.insert(id).second || !distinct;
      const bool fits =
          (per_sid == 0 || static_cast<int64_t>(lists.rows.back().size()) < per_sid) && (total == 0 || listed < total);
      if (wanted && fits) lists.rows.back().push_back(row);
      if (wanted && fits) ++listed;
      if (wanted && !fits) lists.truncated = true;
      ++row;
    }
  }
  return lists;
}

}  // namespace oracle
