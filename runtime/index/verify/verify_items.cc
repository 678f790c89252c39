// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_items.h"

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

}  // namespace

void verify_items(const Index& index) {
  const IndexView& view = index.view;
  uint64_t collisions = 0, most = 1;
  if (view.item_offsets && !measure_offsets(view, collisions, most)) {
    for (uint64_t o = 0; o <= view.sids; ++o) check_item_offset(kExplain, view, o);
  }
  need_count("collisions", -1, static_cast<uint64_t>(index.header.info.collisions), collisions);
  need_count("max_items_per_sid", -1, static_cast<uint64_t>(index.header.info.max_items_per_sid), most);
  if (view.id_type != IdType::kString) return;
  for (uint64_t i = 0; i <= view.items; ++i) check_name_offset(kExplain, view, i);
}

}  // namespace sidbeam
