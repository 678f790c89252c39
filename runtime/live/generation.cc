// SPDX-License-Identifier: Apache-2.0
#include "live/generation.h"

#include <algorithm>
#include <utility>

#include "decode/rules.h"
#include "decode/version.h"
#include "index/rules/bits.h"
#include "index/rules/row_bits.h"
#include "support/error.h"

namespace sidbeam {
namespace {

Ref<sidbeam_index> checked(Ref<sidbeam_index> base) {
  require_trie(*base);
  if (base->version != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "the base is a version of a live catalogue, expected an index of its own");
  return base;
}

// The ordinals of a delta's SIDs. Those that are new get the next ones, in the order in which their first pairs came.
Buffer<uint64_t> number_sids(const AddedPairs& before, const IndexView& delta, const Overlay& overlay,
                             const Buffer<uint64_t>& places, const Allocator& allocator) {
  const auto sids = static_cast<int64_t>(delta.sids);
  Buffer<uint64_t> ordinals(allocator, sids);
  std::copy_n(overlay.base_ordinals(), sids, ordinals.data());
  const auto known = static_cast<uint64_t>(before.ordinals.size());
  Buffer<uint64_t> fresh(allocator, places.size() - before.ordinals.size());  // the new SID whose first pair each is
  std::fill(fresh.begin(), fresh.end(), kNoNode);
  for (int64_t sid = 0; sid < sids; ++sid) {
    const OrdinalRange rows = item_rows(delta, static_cast<uint64_t>(sid));
    uint64_t first = ~uint64_t{0};
    for (uint64_t row = rows.lo; row < rows.hi; ++row) first = std::min(first, places[static_cast<int64_t>(row)]);
    if (first < known) {
      ordinals[sid] = before.ordinals[static_cast<int64_t>(first)];
    } else if (ordinals[sid] == kNoNode) {
      fresh[static_cast<int64_t>(first - known)] = static_cast<uint64_t>(sid);
    }
  }
  uint64_t next = before.sids;
  for (const uint64_t sid : fresh)
    if (sid != kNoNode) ordinals[static_cast<int64_t>(sid)] = next++;
  return ordinals;
}

}  // namespace

Generation::Generation(int64_t number_of_it, Ref<sidbeam_index> base_of_it)
    : number(number_of_it),
      base(checked(std::move(base_of_it))),
      store({base->index, [this]() -> const IdTable& { return base->find_id_table(); },
             [this]() -> const RepeatsView& { return base->find_repeats(); }},
            base->runtime->threads, base->runtime->allocator) {
  added.sids = base->index.view.sids;
}

AddedPairs join_store(Generation& generation) {
  const sidbeam_index& base = *generation.base;
  const Allocator& allocator = base.runtime->allocator;
  Buffer<uint64_t> places;
  auto delta = std::make_unique<sidbeam_index>();
  delta->runtime = share(base.runtime);
  delta->index = generation.store.make_delta(places);
  const IndexView& view = delta->index.view;
  auto overlay = std::make_shared<Overlay>(base.index.view, view, base.runtime->threads, allocator);
  const Buffer<uint64_t> ordinals = number_sids(generation.added, view, *overlay, places, allocator);
  AddedPairs added;
  added.pairs = generation.store.added();
  added.sids = generation.added.sids;
  added.ordinals = Buffer<uint64_t>(allocator, places.size());
  for (int64_t sid = 0; sid < ordinals.size(); ++sid) {
    added.sids = std::max(added.sids, ordinals[sid] + 1);
    const OrdinalRange own = item_rows(view, static_cast<uint64_t>(sid));
    for (uint64_t row = own.lo; row < own.hi; ++row)
      added.ordinals[static_cast<int64_t>(places[static_cast<int64_t>(row)])] = ordinals[sid];
  }
  Buffer<uint64_t> rows = std::move(places);
  for (uint64_t& row : rows) row += base.index.view.items;
  overlay->set_numbers({added.sids, generation.store.rows(), ordinals.data(), rows.data()}, allocator);
  added.delta = Ref<sidbeam_index>::adopt(delta.release());
  added.overlay = std::move(overlay);
  return added;
}

Ref<sidbeam_index> make_version(const Generation& generation, const AddedPairs& added, const uint64_t* live,
                                uint64_t rows, const sidbeam_index* before) {
  const uint64_t all = generation.base->index.view.items + static_cast<uint64_t>(added.pairs);
  VersionParts parts;
  parts.base = share(generation.base);
  parts.delta = share(added.delta);
  parts.overlay = added.overlay;
  if (count_bits(live, rows) < all) {
    parts.live_rows = zero_bits(all, generation.base->runtime->allocator);
    std::copy_n(live, row_words(rows), parts.live_rows.data());
  }
  return Ref<sidbeam_index>::adopt(make_version(std::move(parts), before).release());
}

}  // namespace sidbeam
