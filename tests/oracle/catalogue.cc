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

}  // namespace oracle
