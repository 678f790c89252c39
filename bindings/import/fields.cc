// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <algorithm>

#include "failure.h"

namespace importer {
namespace {

// Enough of a file to see its names.
std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 12); ++i) {
    text += (i > 0 ? ", '" : "'") + names[i].substr(0, 40) + "'";
  }
  return text + (names.size() > 12 ? ", ..." : "");
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

const Names kItemNames = {"item", "item_id", "iid", "id", "asin", "docid", "goods_id"};
const Names kSidNames = {"sid", "sids", "semantic_id", "semantic_ids", "codes", "tokens", "token_ids"};
const Names kPriorityNames = {"priority"};

bool is_among(const Names& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return std::find(names.begin(), names.end(), lower_case(name)) != names.end();
}

bool are_near(std::string_view one, std::string_view other) {
  const std::string whole_a = lower_case(one), whole_b = lower_case(other);
  std::string_view a = whole_a, b = whole_b;
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  a.remove_prefix(static_cast<size_t>(ends.first - a.begin()));
  b.remove_prefix(static_cast<size_t>(ends.second - b.begin()));
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  const bool swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  return swapped || std::max(a.size(), b.size()) <= 1;
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

}  // namespace importer
