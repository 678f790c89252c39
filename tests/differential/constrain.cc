// Constraints of drawn rules: filters made in many ways, lists given at once or in parts.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "library.h"

namespace differential {
namespace {

using Rows = std::vector<bool>;

Filter filter_of(sidbeam_index* index, const Rows& rows) {
  std::vector<int64_t> numbers;
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows[row]) numbers.push_back(static_cast<int64_t>(row));
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.by = SIDBEAM_ITEMS_BY_ROW;
  list.numbers = numbers.data();
  list.count = static_cast<int64_t>(numbers.size());
  sidbeam_filter* filter = nullptr;
  int64_t unknown = -1;
  call("sidbeam_filter_from_items", sidbeam_filter_from_items, index, &list, &unknown, &filter);
  expect(unknown == 0, "filter: ", unknown, " unknown rows");
  return Filter(filter);
}

Filter combined(int32_t op, const std::vector<Filter>& filters) {
  std::vector<sidbeam_filter*> handles;
  for (const Filter& filter : filters) handles.push_back(filter.get());
  sidbeam_filter* filter = nullptr;
  call("sidbeam_filter_combine", sidbeam_filter_combine, op, handles.data(), static_cast<int64_t>(handles.size()),
       &filter);
  return Filter(filter);
}

// The filter by a change of another one, some rows of which are named twice.
Filter updated(sidbeam_index* index, const Rows& rows, uint64_t hash) {
  Rows before = rows;
  std::vector<int64_t> changed;
  std::vector<uint8_t> allowed;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (mix(hash, row) % 3 != 0) continue;
    before[row] = mix(hash, row) % 2 == 0;
    for (const bool value : {!rows[row], static_cast<bool>(rows[row])}) {
      changed.push_back(static_cast<int64_t>(row));
      allowed.push_back(value ? 1 : 0);
    }
  }
  const Filter first = filter_of(index, before);
  if (hash % 4 != 0) call("sidbeam_filter_prepare", sidbeam_filter_prepare, first.get());
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.by = SIDBEAM_ITEMS_BY_ROW;
  list.numbers = changed.data();
  list.count = static_cast<int64_t>(changed.size());
  sidbeam_filter* filter = nullptr;
  call("sidbeam_filter_update", sidbeam_filter_update, first.get(), &list, allowed.data(), nullptr, &filter);
  return Filter(filter);
}

// The rows where the hash says so of each, among those of `rows` or not.
Rows some_of(const Rows& rows, uint64_t hash, bool of_rows) {
  Rows some;
  for (size_t row = 0; row < rows.size(); ++row) some.push_back(rows[row] == of_rows && mix(hash, row) % 2 == 0);
  return some;
}

Rows joined(const Rows& a, const Rows& b) {
  Rows both;
  for (size_t row = 0; row < a.size(); ++row) both.push_back(a[row] || b[row]);
  return both;
}

Rows complement(const Rows& rows) {
  Rows others = rows;
  others.flip();
  return others;
}

Filter make_filter(sidbeam_index* index, const Rows& rows, uint64_t hash) {
  const uint64_t more = mix(hash, 1);
  switch (hash % 5) {
    case 0:
      return updated(index, rows, more);
    case 1: {
      std::vector<Filter> one;
      one.push_back(make_filter(index, complement(rows), more));
      return combined(SIDBEAM_FILTER_NOT, one);
    }
    case 2: {  // with strangers of which no row is in both
      const Rows strangers = some_of(rows, more, false);
      Rows others;
      for (size_t row = 0; row < rows.size(); ++row) others.push_back(!rows[row] && !strangers[row]);
      std::vector<Filter> two;
      two.push_back(make_filter(index, joined(rows, strangers), more));
      two.push_back(filter_of(index, joined(rows, others)));
      return combined(SIDBEAM_FILTER_AND, two);
    }
    case 3: {
      std::vector<Filter> two;
      two.push_back(filter_of(index, some_of(rows, more, true)));
      two.push_back(make_filter(index, rows, more));
      return combined(SIDBEAM_FILTER_OR, two);
    }
    default:
      return filter_of(index, rows);
  }
}

sidbeam_item_list list_of(const DrawnList& drawn, size_t begin, size_t end) {
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.by = drawn.by_row ? SIDBEAM_ITEMS_BY_ROW : SIDBEAM_ITEMS_BY_ID;
  list.numbers = drawn.entries.data() + begin;
  list.count = static_cast<int64_t>(end - begin);
  return list;
}

// Excludes what is left of a list, bit by bit.
Constraint exclude_rest(Constraint constraint, const DrawnList& drawn, size_t begin, uint64_t hash) {
  while (begin < drawn.entries.size()) {
    const size_t end = std::min(drawn.entries.size(), begin + 1 + hash % 5);
    const sidbeam_item_list rest = list_of(drawn, begin, end);
    sidbeam_constraint* more = nullptr;
    call("sidbeam_constraint_exclude", sidbeam_constraint_exclude, constraint.get(), &rest, &more);
    constraint.reset(more);
    begin = end;
  }
  return constraint;
}

}  // namespace

Constraint constrain(sidbeam_index* index, const ItemRules& rules, uint64_t hash) {
  Filter filter;
  if (rules.filter) filter = make_filter(index, *rules.filter, mix(hash, 2));
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index;
  config.filter = filter.get();
  const size_t entries = rules.excluded ? rules.excluded->entries.size() : 0;
  const size_t at_once = hash % 2 == 0 ? entries : entries - std::min<size_t>(entries, 1 + hash / 2 % 12);
  sidbeam_item_list excluded = SIDBEAM_ITEM_LIST_INIT, allowed = SIDBEAM_ITEM_LIST_INIT;
  if (rules.excluded) excluded = list_of(*rules.excluded, 0, at_once);
  if (rules.allowed) allowed = list_of(*rules.allowed, 0, rules.allowed->entries.size());
  if (rules.excluded && (at_once > 0 || hash / 24 % 2 == 0)) config.excluded = &excluded;
  if (rules.allowed) config.allowed = &allowed;
  sidbeam_constraint* made = nullptr;
  call("sidbeam_constraint_create", sidbeam_constraint_create, &config, &made);
  Constraint constraint(made);
  if (rules.excluded) constraint = exclude_rest(std::move(constraint), *rules.excluded, at_once, mix(hash, 3));
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  call("sidbeam_constraint_get_info", sidbeam_constraint_get_info, constraint.get(), &info);
  expect(!rules.excluded || info.unknown_excluded == rules.excluded->unknown, "unknown_excluded is ",
         info.unknown_excluded);
  expect(!rules.allowed || info.unknown_allowed == rules.allowed->unknown, "unknown_allowed is ", info.unknown_allowed);
  return constraint;
}

}  // namespace differential
