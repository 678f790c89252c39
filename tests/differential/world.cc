// Catalogues and vocabularies.
// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <sidbeam/sidbeam.h>

namespace differential {
namespace {

double unit(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

std::vector<int> draw_codes(const Case& c, uint64_t which) {
  const auto seed = static_cast<uint64_t>(c.seed);
  int64_t levels = c.levels;
  if (which > 0 && c.shorter != 0)
    levels = 1 + static_cast<int64_t>(mix(seed, kDrawCodes, which) % static_cast<uint64_t>(levels));
  std::vector<int> codes;
  for (int64_t l = 0; l < levels; ++l) {
    const uint64_t hash = mix(seed, kDrawCodes, which, l + 1);
    codes.push_back(static_cast<int>(c.uneven != 0 && hash % 2 != 0
                                         ? 1 + static_cast<int64_t>((hash >> 1) % static_cast<uint64_t>(c.codes))
                                         : c.codes));
  }
  if (c.narrow != 0) codes[0] = std::min(codes[0], static_cast<int>(c.narrow));
  return codes;
}

oracle::Sid draw_sid(const Case& c, const std::vector<int>& codes, uint64_t which, uint64_t i) {
  const auto seed = static_cast<uint64_t>(c.seed);
  const size_t levels = codes.size();
  oracle::Sid sid;
  if (c.copy != 0 && i > 0 && mix(seed, kDrawSid, which, i, 100) % 2 == 0) {
    sid = draw_sid(c, codes, which, mix(seed, kDrawSid, which, i, 101) % i);
    sid.resize(mix(seed, kDrawSid, which, i, 102) % (sid.size() + 1));
  }
  size_t length = levels;
  if (c.variable != 0)
    length = std::max<size_t>(1, std::max(sid.size(), mix(seed, kDrawSid, which, i, 103) % (levels + 1)));
  for (size_t l = sid.size(); l < length; ++l) {
    const double u = std::pow(unit(mix(seed, kDrawSid, which, i, l)), 1.0 + 2.0 * static_cast<double>(c.skew));
    sid.push_back(std::min(codes[l] - 1, static_cast<int>(u * codes[l])));
  }
  if (c.lone != 0 && c.variable != 0 && sid[0] == 0) sid.resize(1);
  return sid;
}

std::vector<oracle::Pair> draw_pairs(const Case& c, const std::vector<int>& codes, uint64_t which) {
  const auto seed = static_cast<uint64_t>(c.seed);
  std::vector<oracle::Pair> pairs;
  for (int64_t i = c.first; i < c.first + c.sids; ++i) {
    const oracle::Sid sid = draw_sid(c, codes, which, static_cast<uint64_t>(i));
    const uint64_t count = 1 + mix(seed, kDrawItems, which, i) % static_cast<uint64_t>(c.items);
    for (uint64_t k = 0; k < count; ++k) {
      oracle::Pair pair{sid, static_cast<int64_t>(pairs.size()), 0};
      if (c.ids != 0) pair.id = static_cast<int64_t>(mix(seed, kDrawItems, which, i, k) % 9) - 4;
      uint64_t priority = mix(seed, kDrawItems, pair.id);  // of SID and item, so that identical pairs agree
      for (int code : sid) priority = mix(priority, static_cast<uint64_t>(code));
      if (c.priorities != 0) pair.priority = static_cast<int64_t>(priority % 3) - 1;
      pairs.push_back(pair);
    }
  }
  return pairs;
}

// Perhaps an older version of the live catalogue before, one that has items.
std::optional<Story> draw_older(const World& world, uint64_t which) {
  const uint64_t hash = mix(world.seed(), kDrawLive, which, 21);
  if (world.c.live == 0 || which == 0 || hash % 4 == 0) return {};
  Story older = world.stories.back();
  if (older.turns.empty()) return {};
  older.turns.resize(hash / 4 % older.turns.size());
  older.is_older = true;
  if (numbered_by(older, world.wholes.back().codes, world.c.variable != 0).rows.empty()) return {};
  return older;
}

// Largest V_l of any catalogue: what the columns of a level must hold.
std::vector<int> widest_codes(const World& world) {
  std::vector<int> widest(static_cast<size_t>(world.c.levels), 1);
  for (const oracle::Catalogue& catalogue : world.catalogues) {
    for (size_t l = 0; l < catalogue.codes.size(); ++l) widest[l] = std::max(widest[l], catalogue.codes[l]);
  }
  return widest;
}

// A map of `codes` codes to columns from `base` on.
std::vector<int32_t> draw_map(const World& world, uint64_t level, int64_t base, int codes) {
  std::vector<int32_t> map(static_cast<size_t>(codes));
  std::iota(map.begin(), map.end(), static_cast<int32_t>(base));
  for (size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[mix(world.seed(), kDrawVocabulary, level, i) % i]);
  if (world.c.maps == 2) {
    for (size_t i = 0; i + 1 < map.size(); i += 3) map[i] = map[i + 1];
  }
  return map;
}

void draw_vocabulary(World* world) {
  const Case& c = world->c;
  const std::vector<int> widest = widest_codes(*world);
  const auto first = static_cast<int64_t>(mix(world->seed(), kDrawVocabulary) % 30) * 2 + 1;  // odd
  int64_t next = c.offsets == 0 ? 0 : first, end = 0;
  for (size_t l = 0; l < widest.size(); ++l) {
    const int64_t base = c.offsets == 1 ? next : c.offsets == 2 ? first : 0;
    next += widest[l];
    end = std::max(end, base + widest[l]);
    world->offsets.push_back(base);
    const bool mapped = c.maps != 0 && mix(world->seed(), kDrawVocabulary, l, 0) % 4 != 0;
    world->maps.push_back(mapped ? draw_map(*world, l, base, widest[l]) : std::vector<int32_t>{});
    std::vector<int> columns(static_cast<size_t>(widest[l]));
    for (size_t t = 0; t < columns.size(); ++t) {
      columns[t] = mapped ? world->maps[l][t] : static_cast<int>(base) + static_cast<int>(t);
    }
    world->rules.columns.push_back(columns);
  }
  world->columns = end;
  if (c.variable != 0) {
    world->end_column =
        c.end_column == 0
            ? end
            : static_cast<int64_t>(mix(world->seed(), kDrawVocabulary, 1, 1, 1) % static_cast<uint64_t>(end));
    world->columns = std::max(end, world->end_column + 1);
  }
  world->columns += c.extra;
  world->rules.end_column = static_cast<int>(world->end_column);
}

}  // namespace

std::vector<oracle::Pair> World::allowed_pairs(size_t catalogue) const {
  const std::vector<oracle::Sid>& sids = catalogues[catalogue].sids;
  std::vector<oracle::Pair> allowed;
  for (size_t i = 0; i < sids.size(); ++i)
    for (const int64_t id : catalogues[catalogue].items[i]) allowed.push_back({sids[i], id, 0});
  return allowed;
}

World make_world(const Case& c) {
  World world;
  world.c = c;
  for (uint64_t k = 0; k < static_cast<uint64_t>(c.catalogues); ++k) {
    const std::optional<Story> older = draw_older(world, k);
    const std::vector<int> codes = older ? world.wholes.back().codes : draw_codes(c, k);
    world.pairs.push_back(older ? std::vector<oracle::Pair>() : draw_pairs(c, codes, k));
    if (c.live != 0) world.stories.push_back(older ? *older : draw_story(c, codes, world.pairs.back(), k));
    const Numbered whole = c.live != 0 ? numbered_by(world.stories.back(), codes, c.variable != 0)
                                       : numbered(oracle::make_catalogue(codes, c.variable != 0, world.pairs.back()));
    world.wholes.push_back(whole.catalogue);
    if (c.rules != 0 || c.live != 0) world.parts.push_back(draw_rules(c, whole, k));
    world.catalogues.push_back(world.parts.empty() ? whole.catalogue : world.parts.back().catalogue);
  }
  draw_vocabulary(&world);
  constexpr oracle::Strategy kStrategies[] = {oracle::Strategy::kExact, oracle::Strategy::kExact,
                                              oracle::Strategy::kSortedTopk, oracle::Strategy::kHashFinal,
                                              oracle::Strategy::kNone};
  constexpr oracle::Normalization kNormalizations[] = {oracle::Normalization::kFull, oracle::Normalization::kLevel,
                                                       oracle::Normalization::kValid, oracle::Normalization::kNone};
  world.rules.strategy = kStrategies[c.strategy];
  world.rules.normalization = kNormalizations[c.normalization];
  world.rules.top_k = static_cast<int>(c.top_k == 0 ? c.beams : c.top_k);
  world.rules.inverse_temperature = inverse_temperature_of(c);
  world.rules.soft_cap = soft_cap_of(c);
  return world;
}

}  // namespace differential
