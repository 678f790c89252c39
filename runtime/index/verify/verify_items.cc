// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_items.h"

#include <algorithm>

#include "index/priorities.h"
#include "index/read/items.h"
#include "index/verify/bulk_arrays.h"
#include "index/verify/explain.h"

namespace sidbeam {
namespace {

// Returns whether the offsets rise from 0 to the items, and measures the gaps. Does not say where they fail to rise.
bool measure_offsets(const IndexView& view, uint64_t& collisions, uint64_t& most) {
  const UintArray& offsets = view.item_offsets;
  if (offsets[0] != 0 || offsets[view.sids] != view.items) return false;
  return with_pointers(bulk_kernels(view.target), offsets, [&](const auto* all, const auto& loops) {
    return loops.rise(all + 1, view.sids, collisions, most);
  });
}

using ll = long long;
using ull = unsigned long long;

bool has_rising_id(const IndexView& view, uint64_t row) {
  if (view.id_type == IdType::kString) return item_name(view, row - 1) < item_name(view, row);
  const int64_t before = view.ids[row - 1], id = view.ids[row];
  return view.id_type == IdType::kU64 ? static_cast<uint64_t>(before) < static_cast<uint64_t>(id) : before < id;
}

// Of two rows of a SID, whose order the priorities explain.
void check_order(const Index& index, uint64_t row) {
  const PrioritiesView& priorities = index.priorities;
  const int64_t before = item_priority(priorities, row - 1), priority = item_priority(priorities, row);
  if (priority > before)
    corrupt(format::SectionKind::ItemPriorities, -1, "item row %llu has %lld after %lld of the same SID, which rises",
            static_cast<ull>(row), static_cast<ll>(priority), static_cast<ll>(before));
  if (priority < before || has_rising_id(index.view, row)) return;
  const auto culprit = priorities.above                        ? format::SectionKind::ItemPriorities
                       : index.view.id_type == IdType::kString ? format::SectionKind::ItemNames
                                                               : format::SectionKind::ItemIds;
  corrupt(culprit, -1, "item rows %llu and %llu of a SID both have priority %lld, and ids that do not rise",
          static_cast<ull>(row - 1), static_cast<ull>(row), static_cast<ll>(priority));
}

void check_range(const Index& index) {
  const PrioritiesView& priorities = index.priorities;
  if (!priorities.above) return;
  uint64_t least = ~uint64_t{0}, most = 0;
  with_type(priorities.above, [&](const auto* above) {
    for (uint64_t row = 0; row < index.view.items; ++row) {
      least = std::min<uint64_t>(least, above[row]);
      most = std::max<uint64_t>(most, above[row]);
    }
  });
  const auto base = static_cast<uint64_t>(priorities.least);
  if (least != 0 || base + most != static_cast<uint64_t>(priorities.greatest))
    corrupt(format::SectionKind::ItemPriorities, -1, "they are %lld to %lld, the header says %lld to %lld",
            static_cast<ll>(base + least), static_cast<ll>(base + most), static_cast<ll>(priorities.least),
            static_cast<ll>(priorities.greatest));
}

// Where the offsets rise.
void verify_priorities(const Index& index) {
  if (!has_priorities(index.priorities)) return;
  check_range(index);
  const IndexView& view = index.view;
  for (uint64_t o = 0; view.item_offsets && o < view.sids; ++o)
    for (uint64_t row = view.item_offsets[o] + 1; row < view.item_offsets[o + 1]; ++row) check_order(index, row);
}

}  // namespace

void verify_items(const Index& index) {
  const IndexView& view = index.view;
  uint64_t collisions = 0, most = 1;
  if (view.item_offsets && !measure_offsets(view, collisions, most)) {
    for (uint64_t o = 0; o <= view.sids; ++o) check_item_offset(kExplain, view, o);
  }
  need_count("collisions", -1, static_cast<uint64_t>(index.header.info.collisions), collisions);
  need_count("max_items_per_sid", -1, static_cast<uint64_t>(index.header.info.max_items_per_sid), most);
  for (uint64_t i = 0; view.id_type == IdType::kString && i <= view.items; ++i) check_name_offset(kExplain, view, i);
  verify_priorities(index);
}

}  // namespace sidbeam
