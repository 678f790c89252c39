// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_items.h"

#include "index/verify/bulk_kernels.h"
#include "index/verify/corrupt.h"
#include "index/verify/need_count.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

// Whether they rise from 0 to the items, and by how much: without saying where they do not.
bool measure_offsets(const IndexView& view, uint64_t& collisions, uint64_t& most) {
  const UintArray& offsets = view.item_offsets;
  if (offsets[0] != 0 || offsets[view.sids] != view.items) return false;
  const BulkKernels& kernels = bulk_kernels(view.target);
  if (offsets.width == 4)
    return kernels.rise_u32(static_cast<const uint32_t*>(offsets.data) + 1, view.sids, collisions, most);
  return kernels.rise_u64(static_cast<const uint64_t*>(offsets.data) + 1, view.sids, collisions, most);
}

[[noreturn]] void find_bad_offset(const IndexView& view) {
  uint64_t before = 0;
  for (uint64_t o = 0; o <= view.sids; ++o) {
    const uint64_t offset = view.item_offsets[o];
    if (o == 0 ? offset != 0 : offset <= before || offset > view.items)
      corrupt(SectionKind::ItemOffsets, -1, "entry %llu is %llu after %llu, expected to rise from 0 to %llu",
              static_cast<ull>(o), static_cast<ull>(offset), static_cast<ull>(before), static_cast<ull>(view.items));
    before = offset;
  }
  corrupt(SectionKind::ItemOffsets, -1, "the last entry is %llu, expected the %llu items", static_cast<ull>(before),
          static_cast<ull>(view.items));
}

}  // namespace

void verify_items(const Index& index) {
  const IndexView& view = index.view;
  uint64_t collisions = 0, most = 1;
  if (view.item_offsets && !measure_offsets(view, collisions, most)) find_bad_offset(view);
  need_count("collisions", -1, static_cast<uint64_t>(index.header.info.collisions), collisions);
  need_count("max_items_per_sid", -1, static_cast<uint64_t>(index.header.info.max_items_per_sid), most);
  if (view.id_type != IdType::kString) return;
  for (uint64_t i = 0; i <= view.items; ++i) {
    const uint64_t offset = view.name_offsets[i], least = i == 0 ? 0 : view.name_offsets[i - 1];
    if (offset < least || offset > view.name_bytes || (i == 0 && offset != 0) ||
        (i == view.items && offset != view.name_bytes))
      corrupt(SectionKind::ItemNameOffsets, -1, "entry %llu is %llu, expected to rise from 0 to %llu",
              static_cast<ull>(i), static_cast<ull>(offset), static_cast<ull>(view.name_bytes));
  }
}

}  // namespace sidbeam
