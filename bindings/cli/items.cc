// SIDs and items of an index, as text.
// SPDX-License-Identifier: Apache-2.0
#include "items.h"

#include "options.h"

namespace cli {

void each_item(const sidbeam_index* index, int32_t id_type, int64_t lo, int64_t hi,
               const std::function<void(int64_t, std::string)>& take) {
  const char* end = nullptr;  // of the name before
  for (int64_t row = lo; row < hi; ++row) {
    int64_t id = 0, bytes = 0;
    const char* name = nullptr;
    call(sidbeam_index_item_id, index, row, &id, &name, &bytes);
    if (id_type != SIDBEAM_ID_STRING) {
      take(row, id_type == SIDBEAM_ID_U64 ? std::to_string(static_cast<uint64_t>(id)) : std::to_string(id));
      continue;
    }
    if (row > lo && name < end && index_info(index).version == 0)
      throw Failure("the names of item rows " + std::to_string(row - 1) + " and " + std::to_string(row) +
                    " overlap: the index is damaged");
    end = name + bytes;
    take(row, {name, static_cast<size_t>(bytes)});
  }
}

namespace {

Constraint constrain(const sidbeam_index* index) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = const_cast<sidbeam_index*>(index);  // counted
  sidbeam_constraint* constraint = nullptr;
  call(sidbeam_constraint_create, &config, &constraint);
  return Constraint(constraint);
}

}  // namespace

std::vector<std::vector<std::string>> items_of(const sidbeam_index* index, const sidbeam_constraint* constraint,
                                               int32_t id_type, const std::vector<int64_t>& ordinals, bool distinct,
                                               const Cap& cap, bool* came_short) {
  const auto count = static_cast<int64_t>(ordinals.size());
  std::vector<int64_t> offsets(ordinals.size() + 1), rows;
  const Constraint whole = constraint == nullptr ? constrain(index) : Constraint();
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  limits.distinct = distinct ? 1 : 0;
  limits.cap_attribute = cap.most > 0 ? cap.attribute.c_str() : nullptr;
  limits.cap = cap.most;
  int32_t short_flag = 0;
  const auto list = [&](int64_t limit, int64_t* to, int32_t* flag) {
    limits.limit = limit;
    call(sidbeam_constraint_items, constraint == nullptr ? whole.get() : constraint, ordinals.data(), count, &limits,
         to, offsets.data(), nullptr, flag);
  };
  list(0, nullptr, &short_flag);
  if (came_short != nullptr) *came_short = short_flag != 0;
  rows.resize(static_cast<size_t>(offsets.back()));
  if (!rows.empty()) list(offsets.back(), rows.data(), nullptr);
  std::vector<std::vector<std::string>> items(ordinals.size());
  for (size_t i = 0; i < items.size(); ++i) {
    for (auto at = static_cast<size_t>(offsets[i]), end = at; at < static_cast<size_t>(offsets[i + 1]); at = end) {
      while (end < static_cast<size_t>(offsets[i + 1]) && rows[end] - rows[at] == static_cast<int64_t>(end - at)) ++end;
      each_item(index, id_type, rows[at], rows[end - 1] + 1,
                [&](int64_t, std::string id) { items[i].push_back(std::move(id)); });
    }
  }
  return items;
}

std::vector<int32_t> sid_of(const sidbeam_index* index, int32_t levels, int64_t ordinal) {
  std::vector<int32_t> codes(static_cast<size_t>(levels));
  int32_t length = 0;
  call(sidbeam_index_sid, index, ordinal, codes.data(), &length);
  codes.resize(static_cast<size_t>(length));
  return codes;
}

int64_t parse_id(const std::string& where, int32_t id_type, const std::string& text) {
  const bool is_signed = id_type == SIDBEAM_ID_I64;
  const auto parsed = is_signed ? parse_integer<int64_t>(text) : std::nullopt;
  const auto parsed_unsigned = is_signed ? std::nullopt : parse_integer<uint64_t>(text);
  if (!parsed && !parsed_unsigned) {
    throw Failure(where + ": '" + sidbeam::escaped(importer::shortened(text)) + "', expected " +
                  (is_signed ? "a signed" : "an unsigned") + " 64-bit integer, as the ids of this index are");
  }
  return parsed ? *parsed : static_cast<int64_t>(*parsed_unsigned);
}

int64_t find_item(const sidbeam_index* index, int32_t id_type, const std::string& text, int64_t from_row) {
  int64_t row = -1;
  const int64_t id = id_type != SIDBEAM_ID_STRING ? parse_id("--item", id_type, text) : 0;
  const char* name = id_type == SIDBEAM_ID_STRING ? text.data() : nullptr;
  call(sidbeam_index_find_item, index, id, name, static_cast<int64_t>(text.size()), from_row, &row);
  return row;
}

}  // namespace cli
