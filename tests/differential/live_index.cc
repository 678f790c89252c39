// A story of a live catalogue, told to the library.
// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "item_values.h"
#include "library.h"

namespace differential {
namespace {

using LiveCatalog = std::unique_ptr<sidbeam_catalog, Releaser<sidbeam_catalog_close>>;

struct Telling {
  const World& world;
  sidbeam_catalog* catalog;
  size_t levels;

  void add(const std::vector<oracle::Pair>& given, size_t from, size_t to) const {
    if (from == to) return;
    std::vector<int32_t> codes((to - from) * levels, -7), lengths;  // entries past a length are not read
    std::vector<int64_t> ids, priorities;
    for (size_t i = from; i < to; ++i) {
      for (size_t l = 0; l < given[i].sid.size(); ++l) codes[(i - from) * levels + l] = given[i].sid[l];
      lengths.push_back(static_cast<int32_t>(given[i].sid.size()));
      ids.push_back(given[i].id);
      priorities.push_back(given[i].priority);
    }
    std::deque<AttributeValues> values;
    std::vector<const sidbeam_attribute_column*> columns;
    for (size_t k = 0; k < kAttributes && world.c.attributes != 0; ++k)
      columns.push_back(&values.emplace_back(world.c, k, given, from, to).column);
    sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
    pairs.codes = codes.data();
    pairs.lengths = world.c.variable != 0 ? lengths.data() : nullptr;
    pairs.count = static_cast<int64_t>(to - from);
    pairs.ids = ids.data();
    pairs.priorities = world.c.priorities != 0 ? priorities.data() : nullptr;
    pairs.attributes = columns.data();
    pairs.attribute_count = std::ssize(columns);
    call("sidbeam_catalog_add", sidbeam_catalog_add, catalog, &pairs);
  }

  void remove(const std::vector<int64_t>& ids) const {
    sidbeam_item_list items = SIDBEAM_ITEM_LIST_INIT;
    items.numbers = ids.data();
    items.count = std::ssize(ids);
    int64_t unknown = -1;
    call("sidbeam_catalog_remove", sidbeam_catalog_remove, catalog, &items, &unknown);
    expect(unknown == 0, "live: ", unknown, " items to remove are unknown");
  }

  int64_t publish() const {
    int64_t version = 0;
    call("sidbeam_catalog_publish", sidbeam_catalog_publish, catalog, &version);
    return version;
  }

  void go_back(int64_t version) const {
    call("sidbeam_catalog_rollback", sidbeam_catalog_rollback, catalog, version, static_cast<int64_t*>(nullptr));
  }

  Index newest() const {
    sidbeam_index* index = nullptr;
    call("sidbeam_catalog_snapshot", sidbeam_catalog_snapshot, catalog, int64_t{0}, &index);
    return Index(index);
  }

  // In one call or two.
  void take(const Turn& turn, uint64_t hash) const {
    const int64_t before = publish();  // nothing has changed: the newest
    remove(turn.removed);
    const size_t cut = turn.added.empty() ? 0 : hash % turn.added.size();
    add(turn.added, 0, cut);
    add(turn.added, cut, turn.added.size());
    const int64_t published = turn.dropped ? before : publish();
    if (turn.taken_back || turn.dropped) go_back(before);
    sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
    call("sidbeam_catalog_get_info", sidbeam_catalog_get_info, catalog, &info);
    if ((turn.compacted || turn.compacted_in_vain) && info.items > 0)
      call("sidbeam_catalog_compact", sidbeam_catalog_compact, catalog,
           static_cast<const sidbeam_compact_config*>(nullptr), static_cast<int64_t*>(nullptr));
    if (turn.compacted_in_vain) go_back(published);
  }
};

}  // namespace

std::vector<Index> live_indexes(const World& world, sidbeam_index* base, std::span<const Story> stories,
                                uint64_t hash) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("sidbeam_index_get_info", sidbeam_index_get_info, base, &info);
  sidbeam_catalog* made = nullptr;
  call("sidbeam_catalog_create", sidbeam_catalog_create, base, static_cast<const char*>(nullptr),
       static_cast<const sidbeam_catalog_config*>(nullptr), &made);
  const LiveCatalog catalog(made);
  const Telling telling{world, made, static_cast<size_t>(info.levels)};
  const std::vector<Turn>& turns = stories[0].turns;
  std::vector<Index> indexes(stories.size());
  for (size_t taken = 0;; ++taken) {
    for (size_t k = 0; k < stories.size(); ++k)
      if (stories[k].turns.size() == taken) indexes[k] = telling.newest();
    if (taken == turns.size()) return indexes;
    telling.take(turns[taken], mix(hash, taken));
  }
}

}  // namespace differential
