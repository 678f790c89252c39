// SPDX-License-Identifier: Apache-2.0
#include "level_columns.h"

#include <sidbeam/base.h>

#include <algorithm>
#include <map>

#include "failure.h"
#include "family.h"
#include "fields.h"
#include "ids_text.h"
#include "numbers.h"

namespace importer {
namespace {

// Columns whose names are a stem and a number, by that number.
using Group = std::map<int64_t, int>;

std::map<std::string, Group> find_groups(const std::vector<std::string>& all, const std::string& option,
                                         const std::string& file) {
  static const Names kStems = {"c",     "code",     "codes",    "sid",       "sids",  "semantic_id", "semantic_ids",
                               "token", "tokens",   "token_id", "token_ids", "level", "lvl",         "l",
                               "layer", "codebook", "q",        "rq",        "vq"};
  std::map<std::string, Group> groups;
  TokenParts parts;
  for (size_t i = 0; i < all.size(); ++i) {
    parts.split(all[i]);
    if (parts.numbers.size() != 1 || !parts.texts[1].empty()) continue;
    const auto number = parse_integer<int64_t>(parts.numbers[0]);
    std::string_view stem = parts.texts[0];
    while (!stem.empty() && (stem.back() == '_' || stem.back() == '-' || stem.back() == ' ')) stem.remove_suffix(1);
    if (!number || !is_among(kStems, stem)) continue;
    if (!groups[std::string(parts.texts[0])].emplace(*number, static_cast<int>(i)).second) {
      throw Failure(file + ": column '" + all[i] + "' (" + option + ") comes twice");
    }
  }
  return groups;
}

// The name of another number, with zeros before it as the group's have them.
std::string name_of(const std::string& stem, int64_t number, const std::string& first_name) {
  const std::string digits = std::to_string(number);
  const size_t width = first_name.size() - stem.size();
  return stem + std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

// Of columns that stand in order but for one at the wrong end the number may be damaged: of sid_0 sid_1 sid_2 comes
// sid_3 sid_1 sid_2, which counts too.
void check_order(const Group& group, const std::vector<std::string>& all, const std::string& option,
                 const std::string& file) {
  std::vector<int> places;
  for (const auto& [number, place] : group) places.push_back(place);
  if (places.back() > places.front()) return;
  const bool from_0 = group.begin()->first == 0;
  std::rotate(places.begin(), from_0 ? places.begin() + 1 : places.end() - 1, places.end());
  if (!std::is_sorted(places.begin(), places.end())) return;
  throw Failure(file + ": column '" + all[static_cast<size_t>(places.front())] + "' stands before '" +
                all[static_cast<size_t>(places[1])] + "', and '" + all[static_cast<size_t>(places.back())] +
                "' last: expected them in order of level, or " + option + " to say which is which");
}

bool may_be_code(std::string_view cell) {
  if (is_missing(cell)) return true;
  if (const auto number = parse_whole(cell)) return *number >= 0 && *number < SIDBEAM_MAX_CODES;
  return has_digit(cell) && !looks_like_number(cell) && cell.find(' ') == cell.npos;
}

}  // namespace

LevelColumns find_level_columns(const std::vector<std::string>& all, const std::string& option,
                                const std::string& file) {
  LevelColumns found;
  const auto name = [&all](int place) { return all[static_cast<size_t>(place)]; };
  for (const auto& [stem, group] : find_groups(all, option, file)) {
    if (group.size() < 2) continue;
    const auto [first, first_place] = *group.begin();
    int64_t next = std::min<int64_t>(first, 1);
    for (auto at = group.begin(); at != group.end() && at->first == next; ++at) ++next;
    if (next <= group.rbegin()->first) {
      if (found.gap.empty()) found.gap = "'" + name(first_place) + "' and '" + name(group.rbegin()->second) + "'";
      if (found.places.empty()) found.missing.assign(1, name_of(stem, next, name(first_place)));
      continue;
    }
    if (!found.places.empty()) {
      throw Failure(file + ": columns '" + name(found.places[0]) + "' ... and '" + name(first_place) +
                    "' ... both fit, expected " + option + " to say which");
    }
    check_order(group, all, option, file);
    for (const auto& [number, place] : group) found.places.push_back(place);
    found.missing.assign(1, name_of(stem, next, name(first_place)));
    if (first == 1) found.missing.push_back(name_of(stem, 0, name(first_place)));
  }
  return found;
}

void check_siblings(const LevelColumns& levels, const std::vector<std::string>& all,
                    const std::vector<std::string_view>& cells, const std::string& option, const std::string& file) {
  for (size_t i = 0; i < std::min(all.size(), cells.size()); ++i) {
    const bool is_level =
        std::find(levels.places.begin(), levels.places.end(), static_cast<int>(i)) != levels.places.end();
    if (is_level || is_among(kItemNames, all[i]) || !may_be_code(cells[i])) continue;
    for (const std::string& missing : levels.missing) {
      if (!are_near(all[i], missing)) continue;
      throw Failure(file + ": column '" + all[i] + "' may be that of another level, '" + missing + "', beside '" +
                    all[static_cast<size_t>(levels.places[0])] + "' ...: expected " + option + " to say which are");
    }
  }
}

}  // namespace importer
