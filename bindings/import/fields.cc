// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "failure.h"
#include "family.h"
#include "numbers.h"

namespace importer {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Enough of a file to see its names.
std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 12); ++i) {
    text += (i > 0 ? ", '" : "'") + names[i].substr(0, 40) + "'";
  }
  return text + (names.size() > 12 ? ", ..." : "");
}

}  // namespace

const Names kItemNames = {"item", "item_id", "iid", "id", "asin", "docid", "goods_id"};
const Names kSidNames = {"sid", "sids", "semantic_id", "semantic_ids", "codes", "tokens", "token_ids"};
const Names kPriorityNames = {"priority"};

bool is_among(const Names& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return std::find(names.begin(), names.end(), lower(name)) != names.end();
}

int find_field(const std::vector<std::string>& all, const std::string& asked, const Names& known,
               const std::string& option, const std::string& file, const char* what) {
  int found = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (asked.empty() ? !is_among(known, all[i]) : all[i] != asked) continue;
    if (found < 0) {
      found = static_cast<int>(i);
      continue;
    }
    const std::string& first = all[static_cast<size_t>(found)];
    if (first == all[i]) throw Failure(file + ": " + what + " '" + first + "' (" + option + ") comes twice");
    throw Failure(file + ": " + what + "s '" + first + "' and '" + all[i] + "' both fit, expected " + option +
                  " to say which");
  }
  if (found < 0 && !asked.empty()) {
    throw Failure(file + ": no " + what + " '" + asked + "' (" + option + "), there are " + list(all));
  }
  return found;
}

std::vector<int> find_level_columns(const std::vector<std::string>& all, const std::string& option,
                                    const std::string& file) {
  const Names kStems = {"c",     "code",     "codes",    "sid",       "sids",  "semantic_id", "semantic_ids",
                        "token", "tokens",   "token_id", "token_ids", "level", "lvl",         "l",
                        "layer", "codebook", "q",        "rq",        "vq"};
  std::map<std::pair<std::string, std::string>, std::map<int64_t, int>> groups;
  TokenParts parts;
  for (size_t i = 0; i < all.size(); ++i) {
    parts.split(all[i]);
    if (parts.numbers.size() != 1 || !parts.texts[1].empty()) continue;
    const auto number = parse_integer<int64_t>(parts.numbers[0]);
    std::string_view stem = parts.texts[0];
    while (!stem.empty() && (stem.back() == '_' || stem.back() == '-' || stem.back() == ' ')) stem.remove_suffix(1);
    if (!number || !is_among(kStems, stem)) continue;
    auto& group = groups[{std::string(parts.texts[0]), std::string(parts.texts[1])}];
    if (!group.emplace(*number, static_cast<int>(i)).second) {
      throw Failure(file + ": column '" + all[i] + "' (" + option + ") comes twice");
    }
  }
  std::vector<int> found;
  for (const auto& [name, group] : groups) {
    const int64_t first = group.begin()->first;
    const bool counts = group.rbegin()->first - first == static_cast<int64_t>(group.size()) - 1;
    if (group.size() < 2 || first > 1 || !counts) continue;
    if (!found.empty()) {
      throw Failure(file + ": columns '" + all[static_cast<size_t>(found[0])] + "' ... and '" +
                    all[static_cast<size_t>(group.begin()->second)] + "' ... both fit, expected " + option +
                    " to say which");
    }
    for (const auto& [number, column] : group) found.push_back(column);
  }
  return found;
}

}  // namespace importer
