// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace bench {
namespace {

constexpr int64_t kSeen = 10000;

// 1 where a row is in the filter.
std::vector<char> draw_half(int64_t items) {
  std::vector<char> half(static_cast<size_t>(items));
  std::mt19937_64 random(29);
  for (char& each : half) each = static_cast<char>(random() % 2);
  return half;
}

std::vector<char> draw_seen(int64_t items) {
  std::vector<char> seen(static_cast<size_t>(items), 0);
  std::mt19937_64 random(30);
  for (int64_t i = 0; i < std::min(kSeen, items / 4); ++i) seen[random() % seen.size()] = 1;
  return seen;
}

std::vector<int64_t> rows_of(const std::vector<char>& drawn) {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < drawn.size(); ++row)
    if (drawn[row] != 0) rows.push_back(static_cast<int64_t>(row));
  return rows;
}

Constraint constrain_by(sidbeam_index* index, int64_t items, Rules rules) {
  Filter half;
  if (rules != Rules::kSeen) half = filter_of(index, rows_of(draw_half(items)));
  const std::vector<int64_t> rows = rows_of(draw_seen(items));
  const sidbeam_item_list seen = list_of(rows);
  return constrain(index, half.get(), rules != Rules::kHalf ? &seen : nullptr);
}

// The SIDs of a catalogue that it keeps.
template <class Keeps>
Catalogue some_of(const Catalogue& all, const Keeps& keeps) {
  Catalogue left;
  left.name = all.name;
  left.levels = all.levels;
  left.codes = all.codes;
  left.ends = all.ends;
  for (int64_t sid = 0; sid < all.sids; ++sid) left.sids += keeps(sid) ? 1 : 0;
  left.rows = Pages<int32_t>(left.sids * all.levels);
  int32_t* to = left.rows.data();
  for (int64_t sid = 0; sid < all.sids; ++sid)
    if (keeps(sid)) to = std::copy_n(all.sid(sid), all.levels, to);
  return left;
}

Catalogue without(const Catalogue& all, Rules rules) {
  const std::vector<char> half = draw_half(all.sids), seen = draw_seen(all.sids);
  return some_of(all, [&](int64_t sid) {
    const auto i = static_cast<size_t>(sid);
    return (rules == Rules::kSeen || half[i] != 0) && (rules == Rules::kHalf || seen[i] == 0);
  });
}

// The newest version of a catalogue to which the SIDs that are drawn were added.
Index version_of(sidbeam_runtime* runtime, const Catalogue& all, const std::vector<char>& drawn) {
  const auto is_new = [&](int64_t sid) { return drawn[static_cast<size_t>(sid)] != 0; };
  const Catalogue old = some_of(all, [&](int64_t sid) { return !is_new(sid); }), fresh = some_of(all, is_new);
  const Index base = build_index(runtime, old, SIDBEAM_KIND_TRIE);
  const Catalog catalog = make<Catalog>("catalog_create", sidbeam_catalog_create, base.get(), nullptr, nullptr);
  std::vector<int64_t> ids(static_cast<size_t>(fresh.sids));
  std::iota(ids.begin(), ids.end(), old.sids);
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = fresh.rows.data();
  pairs.ids = ids.data();
  pairs.count = fresh.sids;
  call("catalog_add", sidbeam_catalog_add, catalog.get(), &pairs);
  call("catalog_publish", sidbeam_catalog_publish, catalog.get(), nullptr);
  return make<Index>("catalog_snapshot", sidbeam_catalog_snapshot, catalog.get(), 0);
}

}  // namespace

sidbeam_runtime* World::runtime(int32_t step_threads) {
  Runtime& runtime = runtimes_[step_threads];
  if (!runtime) runtime = make_runtime(step_threads);
  return runtime.get();
}

sidbeam_index* World::index(int32_t kinds) {
  Index& index = indexes_[kinds];
  if (!index) index = build_index(runtime(), catalogue_, kinds);
  return index.get();
}

sidbeam_constraint* World::constraint(int32_t kinds) {
  Constraint& constraint = constraints_[kinds];
  if (!constraint) constraint = constrain(index(kinds));
  return constraint.get();
}

sidbeam_constraint* World::ruled(Rules rules) {
  Constraint& constraint = ruled_[rules];
  if (!constraint) constraint = constrain_by(index(SIDBEAM_KIND_TRIE), catalogue_.sids, rules);
  return constraint.get();
}

sidbeam_constraint* World::allowed_alone(Rules rules) {
  Constraint& constraint = alone_[rules];
  if (!constraint) constraint = constrain(build_index(runtime(), without(catalogue_, rules), SIDBEAM_KIND_TRIE).get());
  return constraint.get();
}

sidbeam_constraint* World::live(int64_t added) {
  Constraint& constraint = live_[added];
  if (constraint) return constraint.get();
  std::vector<char> drawn(static_cast<size_t>(catalogue_.sids));
  std::mt19937_64 random(31);
  for (int64_t i = 0; i < std::min(added, catalogue_.sids / 4); ++i) drawn[random() % drawn.size()] = 1;
  constraint = constrain(version_of(runtime(), catalogue_, drawn).get());
  return constraint.get();
}

const StaticTrie& World::static_trie() {
  if (!static_trie_) static_trie_ = std::make_unique<StaticTrie>(catalogue_);
  return *static_trie_;
}

const Validity& World::validity(MakeValidity make) {
  std::unique_ptr<Validity>& validity = validities_[make];
  if (!validity) validity = make(catalogue_);
  return *validity;
}

void World::forget() {
  for (auto* each : {&ruled_, &alone_}) each->clear();
  constraints_.clear();
  live_.clear();
  indexes_.clear();
  validities_.clear();
  static_trie_.reset();
}

}  // namespace bench
