// Versions of a live catalogue, each with an index of its items alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "decode/version.h"
#include "index/rules/bits.h"
#include "live_search.h"

namespace sidbeam::testing {

using Random = std::mt19937_64;

// A catalogue in which one pair in three has the SID of another, and items have several SIDs.
inline TestCatalogue live_catalogue(Random& random) {
  TestCatalogue catalogue = random_catalogue(random);
  catalogue.kinds = random() % 2 == 0 ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_COMPACT_TRIE;
  catalogue.collisions = SIDBEAM_COLLISIONS_KEEP;
  catalogue.with_ids = true;
  catalogue.with_priorities = false;
  const uint64_t shape = random() % 4;
  for (size_t l = 0; l < catalogue.codes.size(); ++l) {
    int32_t& codes = catalogue.codes[l];
    codes = shape == 0 ? std::min(codes, static_cast<int32_t>(1 + random() % 4)) : std::min(codes, 250);
    for (Pair& pair : catalogue.pairs)
      if (l < pair.sid.size()) {
        pair.sid[l] %= codes;
        if (shape == 1 && l + 2 < catalogue.codes.size()) pair.sid[l] = 0;
      }
  }
  std::map<std::pair<std::vector<int32_t>, std::string>, bool> seen;  // identical pairs once
  std::vector<Pair> pairs;
  for (Pair& pair : catalogue.pairs) {
    pair.id %= 200;
    pair.name = "item " + std::to_string(pair.id);
    if (!std::exchange(seen[{pair.sid, pair.name}], true)) pairs.push_back(pair);
  }
  catalogue.pairs = pairs;
  return catalogue;
}

inline Ref<sidbeam_index> plain_index(sidbeam_runtime* runtime, const TestCatalogue& catalogue) {
  auto index = std::make_unique<sidbeam_index>();
  index->runtime = Ref<sidbeam_runtime>::share(runtime);
  index->index = build(catalogue);
  return Ref<sidbeam_index>::adopt(index.release());
}

// A version of a catalogue, and an index of what is live in it.
struct Pairwise {
  Ref<sidbeam_index> version, plain;
  std::vector<Pair> live;
};

inline std::vector<uint64_t> permutation(Random& random, uint64_t first, uint64_t count) {
  std::vector<uint64_t> out(count);
  std::iota(out.begin(), out.end(), first);
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

inline std::shared_ptr<const Overlay> join(const sidbeam_index& base, const sidbeam_index& delta, Random& random) {
  const IndexView &of_base = base.index.view, &of_delta = delta.index.view;
  auto overlay = std::make_shared<Overlay>(of_base, of_delta, 1, default_allocator());
  std::vector<uint64_t> ordinals(overlay->base_ordinals(), overlay->base_ordinals() + of_delta.sids);
  const auto fresh = static_cast<uint64_t>(std::count(ordinals.begin(), ordinals.end(), kNoNode));
  const std::vector<uint64_t> sids = permutation(random, of_base.sids, fresh);
  const std::vector<uint64_t> rows = permutation(random, of_base.items, of_delta.items);
  size_t next = 0;
  for (uint64_t& ordinal : ordinals) ordinal = ordinal != kNoNode ? ordinal : sids[next++];
  overlay->set_numbers({of_base.sids + fresh, of_base.items + of_delta.items, ordinals.data(), rows.data()},
                       default_allocator());
  return overlay;
}

inline Pair pair_at(const IndexView& index, uint64_t row) {
  Pair pair;
  pair.sid.resize(static_cast<size_t>(index.levels));
  pair.sid.resize(static_cast<size_t>(sid_of(index, item_ordinal(index, row), pair.sid.data())));
  if (index.id_type == IdType::kString) {
    pair.name = id_text(index, row);
  } else {
    pair.id = item_id(index, row);
  }
  return pair;
}

// Some pairs of a catalogue, never none, for the base, and the others for the delta.
inline std::pair<TestCatalogue, TestCatalogue> split_catalogue(const TestCatalogue& all, Random& random) {
  TestCatalogue of_base = all, of_delta = all;
  of_delta.kinds = SIDBEAM_KIND_TRIE;
  of_base.pairs.clear();
  of_delta.pairs.clear();
  const uint64_t share = random() % 20;
  for (const Pair& pair : all.pairs) (random() % 20 < share ? of_delta : of_base).pairs.push_back(pair);
  if (of_base.pairs.empty()) std::swap(of_base.pairs, of_delta.pairs);
  return {of_base, of_delta};
}

// Two rows of three are live, at least one.
inline Buffer<uint64_t> random_live_rows(uint64_t rows, Random& random) {
  Buffer<uint64_t> live = all_bits(rows, default_allocator());
  for (uint64_t row = 0; row < rows; ++row)
    if (random() % 3 == 0) put_bit(live.data(), row, false);
  put_bit(live.data(), random() % rows, true);
  return live;
}

inline Pairwise make_pair_of(sidbeam_runtime* runtime, Random& random) {
  const TestCatalogue all = live_catalogue(random);
  const auto [of_base, of_delta] = split_catalogue(all, random);

  VersionParts parts;
  parts.base = plain_index(runtime, of_base);
  if (!of_delta.pairs.empty()) {
    parts.delta = plain_index(runtime, of_delta);
    parts.overlay = join(*parts.base, *parts.delta, random);
  }
  const uint64_t rows = of_base.pairs.size() + of_delta.pairs.size();
  if (random() % 3 != 0) parts.live_rows = random_live_rows(rows, random);
  Pairwise out;
  out.version = Ref<sidbeam_index>::adopt(make_version(std::move(parts)).release());
  TestCatalogue live = all;
  live.pairs.clear();
  const uint64_t* bits = out.version->live_rows();
  for (uint64_t row = 0; row < rows; ++row)
    if (bits == nullptr || has_bit(bits, row)) live.pairs.push_back(pair_at(out.version->index.view, row));
  out.live = live.pairs;
  out.plain = plain_index(runtime, live);
  return out;
}

}  // namespace sidbeam::testing
