// SPDX-License-Identifier: Apache-2.0
#include "ids_text.h"
#include "support/utf8.h"

#include <algorithm>
#include <iterator>

#include "failure.h"
#include "fields.h"

namespace importer {
namespace {

std::string_view without_spaces(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool is_missing(std::string_view text) {
  // What pandas, R, SQL's tools and JavaScript write.
  static const Names kWords = {"",    "nan", "-nan", "na",   "n/a", "<na>", "#n/a",
                               "#na", "nat", "null", "none", "nil", "\\n",  "undefined"};
  text = without_spaces(text);
  return text.size() <= kLongestMissing && is_among(kWords, text);
}

void IdTexts::check(std::string_view id, const Where& where, const std::string& field) {
  const std::string place = where.place() + ": " + field + (field.empty() ? "" : ": ");
  const std::string_view word = without_spaces(id);
  if (word.empty()) throw Failure(place + "empty id");
  if (!sidbeam::is_utf8(id)) throw Failure(place + "'" + shortened(id) + "' is not UTF-8, expected text that is");
  if (!is_missing(id)) return;
  for (const Missing& before : missing_) {
    if (before.id != word) continue;
    throw Failure(place + "'" + before.id + "' again, as in " + before.row +
                  ": written like an id that is missing, expected one of its own for each item");
  }
  missing_.push_back({std::string(word), place, where.row()});
}

void IdTexts::check_numbers() const {
  if (missing_.empty()) return;
  throw Failure(missing_[0].place + "'" + missing_[0].id + "', an id that is missing, expected a number as the others");
}

}  // namespace importer
