// Versions of live catalogues with a made-up past, for tests in C++. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "random_constraint.h"

namespace handles {

// Items by id, some of a version's, in the base or among those that were added.
struct Pairs {
  SidRows rows;
  std::vector<int64_t> ids;

  void take(const SidRows& from, size_t i, int64_t id) {
    const auto levels = static_cast<std::ptrdiff_t>(from.codes.size() / from.lengths.size());
    const auto sid = from.codes.begin() + static_cast<std::ptrdiff_t>(i) * levels;
    rows.codes.insert(rows.codes.end(), sid, sid + levels);
    rows.lengths.push_back(from.lengths[i]);
    ids.push_back(id);
  }
  void add_to(sidbeam_catalog* catalog) const {
    sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
    pairs.codes = rows.codes.data();
    pairs.lengths = rows.lengths.data();
    pairs.ids = ids.data();
    pairs.count = static_cast<int64_t>(ids.size());
    check([&](sidbeam_error* err) { return sidbeam_catalog_add(catalog, &pairs, err); });
  }
};

// A version whose live items are `rows`, item i of row i. Some were in its base and some were added, and so were others
// that have gone.
inline Index make_version(sidbeam_runtime* runtime, const std::vector<int32_t>& codes, const SidRows& rows,
                          bool variable, uint64_t seed, int32_t kinds = SIDBEAM_KIND_TRIE) {
  constexpr int64_t kGone = 1 << 20;
  std::mt19937_64 random(seed);
  const SidRows others = random_sids(codes, static_cast<int64_t>(1 + random() % 9), random(), variable);
  Pairs base, added;
  std::vector<int64_t> gone;
  for (size_t i = 0; i < others.lengths.size(); ++i) {
    gone.push_back(kGone + static_cast<int64_t>(i));
    (i == 0 || random() % 2 == 0 ? base : added).take(others, i, gone.back());
  }
  for (size_t i = 0; i < rows.lengths.size(); ++i)
    (random() % 2 == 0 ? base : added).take(rows, i, static_cast<int64_t>(i));
  const Builder builder = make_builder(runtime, codes, base.rows, variable, kinds, base.ids.data());
  const Index before =
      made<Index>([&](auto** out, auto* err) { return sidbeam_builder_finish(builder.get(), out, err); });
  const Catalog catalog = made<Catalog>(
      [&](auto** out, auto* err) { return sidbeam_catalog_create(before.get(), nullptr, nullptr, out, err); });
  added.add_to(catalog.get());
  if (random() % 2 == 0)
    check([&](sidbeam_error* err) { return sidbeam_catalog_publish(catalog.get(), nullptr, err); });
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.numbers = gone.data();
  list.count = static_cast<int64_t>(gone.size());
  check([&](sidbeam_error* err) { return sidbeam_catalog_remove(catalog.get(), &list, nullptr, err); });
  check([&](sidbeam_error* err) { return sidbeam_catalog_publish(catalog.get(), nullptr, err); });
  return made<Index>([&](auto** out, auto* err) { return sidbeam_catalog_snapshot(catalog.get(), 0, out, err); });
}

// In an index, of SIDs [count, levels] that end at the first -1; of one that is not there -1.
inline std::vector<int64_t> ordinals_in(sidbeam_index* index, const std::vector<int32_t>& sids, int32_t levels) {
  std::vector<int64_t> ordinals;
  for (auto sid = sids.begin(); sid != sids.end(); sid += levels) {
    const auto length = static_cast<int32_t>(std::find(sid, sid + levels, -1) - sid);
    check([&](sidbeam_error* err) {
      return sidbeam_index_find_sid(index, &*sid, length, &ordinals.emplace_back(-1), err);
    });
  }
  return ordinals;
}

}  // namespace handles
