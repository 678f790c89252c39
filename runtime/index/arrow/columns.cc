// Which columns hold what: by the names that the caller gives, or by the usual ones.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "index/arrow/attributes.h"
#include "index/arrow/schema.h"
#include "index/views.h"
#include "support/error.h"
#include "support/escape.h"

namespace sidbeam::arrow {
namespace {

using Names = std::span<const std::string_view>;
constexpr std::string_view kSids[] = {"sid", "sids", "semantic_id", "semantic_ids", "codes", "tokens", "token_ids"};
constexpr std::string_view kItems[] = {"item", "item_id", "iid", "id", "asin", "docid", "goods_id"};
constexpr std::string_view kPriorities[] = {"priority"};

std::string listed(const Field& batch) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(batch.children.size(), kMost); ++i)
    text += (i == 0 ? "'" : ", '") + batch.children[i].shown + "'";
  if (batch.children.size() > kMost) text += " ...";
  return text.empty() ? "none" : text;
}

// The one column that `fits` accepts, or -1. `what` is what the caller would name to choose.
template <class Fits>
int only(const Field& batch, const char* what, const Fits& fits) {
  int found = -1;
  for (size_t i = 0; i < batch.children.size(); ++i) {
    if (!fits(batch.children[i].name)) continue;
    if (found >= 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "columns '%s' and '%s' both fit: name one of them as %s",
           batch.children[static_cast<size_t>(found)].shown.c_str(), batch.children[i].shown.c_str(), what);
    found = static_cast<int>(i);
  }
  return found;
}

int named(const Field& batch, const char* name, const char* what) {
  const int found = only(batch, what, [&](const std::string& other) { return other == name; });
  if (found < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is '%.100s', expected one of the columns %.200s", what, escaped(name).c_str(),
         listed(batch).c_str());
  return found;
}

int usual(const Field& batch, Names names, const char* what) {
  return only(batch, what,
              [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); });
}

// NULL: a usual name, if there is one; "": none.
int optional_column(const Field& batch, const char* name, Names names, const char* what) {
  if (name == nullptr) return usual(batch, names, what);
  return *name == '\0' ? -1 : named(batch, name, what);
}

std::optional<int> number_after(std::string_view prefix, std::string_view name) {
  int number = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, number);
  if (error != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

// Columns that are called by a prefix and numbers that count on from 0 or 1, in that order.
std::vector<int> prefixed(const Field& batch, const char* prefix) {
  std::vector<std::pair<int, int>> found;  // number, column
  for (size_t i = 0; i < batch.children.size(); ++i)
    if (const auto number = number_after(prefix, batch.children[i].name))
      found.emplace_back(*number, static_cast<int>(i));
  std::sort(found.begin(), found.end());
  if (found.empty())
    fail(SIDBEAM_INVALID_ARGUMENT, "level_prefix is '%.100s', expected columns of that and a number; there are %.200s",
         escaped(prefix).c_str(), listed(batch).c_str());
  std::vector<int> columns;
  const int first = std::min(found[0].first, 1);
  for (size_t l = 0; l < found.size(); ++l) {
    const int expected = first + static_cast<int>(l);
    if (found[l].first != expected)
      fail(SIDBEAM_INVALID_ARGUMENT, "level_prefix is '%.100s': column '%s' stands where that of level %d is expected",
           escaped(prefix).c_str(), batch.children[static_cast<size_t>(found[l].second)].shown.c_str(), expected);
    columns.push_back(found[l].second);
  }
  return columns;
}

[[noreturn]] void refuse(const Field& field, const char* what, const char* expected) {
  fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' has the format '%s'%s, expected %s for %s", field.shown.c_str(),
       field.format.c_str(), field.dictionary.empty() ? "" : " in a dictionary", expected, what);
}

[[noreturn]] void refuse_sids(const Field& field, const Field& values) {
  if (is_text(values.type) || (!values.dictionary.empty() && is_text(values.dictionary[0].type)))
    fail(SIDBEAM_INVALID_ARGUMENT,
         "column '%s' holds text, expected codes as numbers: tokens are read by the importers (the command `sidbeam "
         "build`, or from_file)",
         field.shown.c_str());
  refuse(field, "SIDs", "lists of integers, or lists of such lists,");
}

void check_sids(const Field& field) {
  constexpr int kMostNested = 2;
  const Field* values = &field;
  int nested = 0;
  for (; is_list(values->type) && values->dictionary.empty(); ++nested) values = &values->children[0];
  if (!is_number(values->type) || !values->dictionary.empty() || nested > kMostNested) refuse_sids(field, *values);
}

void check_items(const Field& field) {
  const Field& values = field.dictionary.empty() ? field : field.dictionary[0];
  const bool indexed = !field.dictionary.empty() && (!is_integer(field.type) || !values.dictionary.empty());
  if (indexed || (!is_number(values.type) && !is_text(values.type))) refuse(field, "items", "integers or text");
}

void check_priorities(const Field& field) {
  if (!is_number(field.type) || !field.dictionary.empty()) refuse(field, "priorities", "integers");
}

void choose_sids(const Field& batch, const sidbeam_arrow_config& config, Columns& columns) {
  if ((config.sid != nullptr) + (config.levels != nullptr) + (config.level_prefix != nullptr) > 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "sid, levels and level_prefix are given together, expected one of them");
  if (config.levels != nullptr) {
    if (config.level_count < 1 || config.level_count > kMaxLevels)
      fail(SIDBEAM_INVALID_ARGUMENT, "level_count is %d, expected 1 to %d", config.level_count, kMaxLevels);
    for (int32_t l = 0; l < config.level_count; ++l) {
      if (config.levels[l] == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "levels[%d] is NULL, expected a name", l);
      columns.levels.push_back(named(batch, config.levels[l], "a level's column"));
    }
    return;
  }
  if (config.level_prefix != nullptr) {
    columns.levels = prefixed(batch, config.level_prefix);
    return;
  }
  columns.sid = config.sid != nullptr ? named(batch, config.sid, "sid") : usual(batch, kSids, "sid");
  if (columns.sid < 0)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "no column of SIDs: there are %.200s; expected sid, sids, semantic_id, semantic_ids, codes, tokens or "
         "token_ids, or a name",
         listed(batch).c_str());
}

// Those that are named, or all that nothing else uses.
std::vector<int> choose_attributes(const Field& batch, const sidbeam_arrow_config& config, const Columns& columns) {
  std::vector<int> found;
  if (config.attribute_count < 0 || config.attribute_count > static_cast<int64_t>(kMaxAttributes))
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute_count is %lld, expected 0 to %zu",
         static_cast<long long>(config.attribute_count), kMaxAttributes);
  if (config.attribute_count > 0 && config.attributes == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "attributes is NULL, expected %lld names",
         static_cast<long long>(config.attribute_count));
  if (config.attribute_count > 0 && config.all_attributes != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "attributes are named and all are asked for, expected one of the two");
  for (int64_t i = 0; i < config.attribute_count; ++i) {
    if (config.attributes[i] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "attributes[%lld] is NULL, expected a name", static_cast<long long>(i));
    found.push_back(named(batch, config.attributes[i], "an attribute's column"));
  }
  for (size_t i = 0; config.all_attributes != 0 && i < batch.children.size(); ++i) {
    const auto column = static_cast<int>(i);
    const auto& levels = columns.levels;
    if (column != columns.sid && column != columns.item && column != columns.priority &&
        std::find(levels.begin(), levels.end(), column) == levels.end())
      found.push_back(column);
  }
  for (const int column : found) attribute_type_of(batch.children[static_cast<size_t>(column)]);
  return found;
}

}  // namespace

Columns choose_columns(const Field& batch, const sidbeam_arrow_config& config) {
  Columns columns;
  if (batch.type != Type::kStruct) {
    const char* const names[] = {config.sid, config.level_prefix, config.item, config.priority};
    for (const char* name : names)
      if (config.levels != nullptr || (name != nullptr && *name != '\0'))
        fail(SIDBEAM_INVALID_ARGUMENT,
             "the stream is one column without a name, expected record batches where columns "
             "are named");
    if (config.attribute_count > 0 || config.all_attributes != 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "the stream is one column without a name, expected record batches for attributes");
    columns.bare = true;
    check_sids(batch);
    return columns;
  }
  choose_sids(batch, config, columns);
  columns.item = optional_column(batch, config.item, kItems, "item");
  columns.priority = optional_column(batch, config.priority, kPriorities, "priority");
  if (columns.levels.size() > static_cast<size_t>(kMaxLevels))
    fail(SIDBEAM_INVALID_ARGUMENT, "%zu columns of levels, expected at most %d", columns.levels.size(), kMaxLevels);
  for (const Field* field : sid_fields(batch, columns)) {
    check_sids(*field);
    if (columns.sid < 0 && is_list(field->type)) refuse(*field, "the codes of a level", "integers");
  }
  if (columns.sid >= 0 && !is_list(batch.children[static_cast<size_t>(columns.sid)].type))
    columns.levels.assign(1, std::exchange(columns.sid, -1));  // SIDs of one code
  if (columns.item >= 0) check_items(batch.children[static_cast<size_t>(columns.item)]);
  if (columns.priority >= 0) check_priorities(batch.children[static_cast<size_t>(columns.priority)]);
  columns.attributes = choose_attributes(batch, config, columns);
  return columns;
}

std::vector<const Field*> sid_fields(const Field& batch, const Columns& columns) {
  if (columns.bare) return {&batch};
  if (columns.sid >= 0) return {&batch.children[static_cast<size_t>(columns.sid)]};
  std::vector<const Field*> fields;
  for (const int column : columns.levels) fields.push_back(&batch.children[static_cast<size_t>(column)]);
  return fields;
}

}  // namespace sidbeam::arrow
