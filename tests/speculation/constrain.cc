// SPDX-License-Identifier: Apache-2.0
#include "constrain.h"

#include "../random_version.h"

namespace speculation {
namespace {

using handles::made;

handles::SidRows rows_of(const Items& items) {
  handles::SidRows rows;
  for (const Prefix& sid : items.sids) {
    rows.lengths.push_back(static_cast<int32_t>(sid.size()));
    rows.codes.insert(rows.codes.end(), sid.begin(), sid.end());
    rows.codes.resize(rows.lengths.size() * static_cast<size_t>(items.levels), -1);
  }
  return rows;
}

handles::Index build(const World& world, const Case& c, const Items& items) {
  const int32_t kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | (c.variable ? 0 : SIDBEAM_KIND_HASH);
  const std::vector<int32_t> codes(c.codes.begin(), c.codes.begin() + items.levels);
  const handles::SidRows rows = rows_of(items);
  if (c.live) return handles::make_version(world.runtime.get(), codes, rows, c.variable, c.target.seed, kinds);
  const handles::Builder builder = handles::make_builder(world.runtime.get(), codes, rows, c.variable, kinds);
  return made<handles::Index>([&](auto out, auto err) { return sidbeam_builder_finish(builder.get(), out, err); });
}

// The ids of the items to which the rules do that, or anything else.
std::vector<int64_t> ids_of(const Items& items, Rule rule, bool is) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < items.rules.size(); ++i)
    if ((items.rules[i] == rule) == is) ids.push_back(static_cast<int64_t>(i));
  return ids;
}

sidbeam_item_list list_of(const std::vector<int64_t>& ids) {
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.numbers = ids.data();
  list.count = static_cast<int64_t>(ids.size());
  return list;
}

}  // namespace

handles::Constraint constrain(const World& world, const Case& c, const Items& items) {
  const handles::Index index = build(world, c, items);
  world.place->prepare(index.get());
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index.get();
  const std::vector<int64_t> passing = ids_of(items, Rule::kFiltered, false),
                             seen = ids_of(items, Rule::kListed, !c.allow_list);
  const sidbeam_item_list in_filter = list_of(passing), list = list_of(seen);
  handles::Filter filter;
  if (!items.rules.empty()) {
    filter = made<handles::Filter>(
        [&](auto out, auto err) { return sidbeam_filter_from_items(index.get(), &in_filter, nullptr, out, err); });
    config.filter = filter.get();
    (c.allow_list ? config.allowed : config.excluded) = &list;
  }
  return made<handles::Constraint>([&](auto out, auto err) { return sidbeam_constraint_create(&config, out, err); });
}

}  // namespace speculation
