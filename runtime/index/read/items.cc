// SPDX-License-Identifier: Apache-2.0
#include "index/read/items.h"

#include <algorithm>

#include "index/overlay.h"

namespace sidbeam {

uint64_t item_ordinal(const IndexView& index, uint64_t row) {
  if (row >= index.items) {
    const OverlayView& overlay = *index.overlay;
    return overlay.ordinals[item_ordinal(*overlay.delta, delta_row(index, row))];
  }
  if (!index.item_offsets) return std::min(row, index.sids - 1);
  uint64_t lo = 0, hi = index.sids;  // finds the last ordinal whose first row is at or before `row`
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    (index.item_offsets[middle] <= row ? lo : hi) = middle;
  }
  return lo;
}

std::string_view item_name(const IndexView& index, uint64_t row) {
  if (row >= index.items) return item_name(*index.overlay->delta, delta_row(index, row));
  const uint64_t begin = std::min(index.name_offsets[row], index.name_bytes);
  const uint64_t end = std::clamp(index.name_offsets[row + 1], begin, index.name_bytes);
  return {index.names + begin, end - begin};
}

int64_t item_id(const IndexView& index, uint64_t row) {
  if (row >= index.items) return index.overlay->delta->ids[delta_row(index, row)];
  return index.ids[row];
}

int64_t find_item(const IndexView& index, int64_t id, std::string_view name, uint64_t from) {
  for (uint64_t row = from; row < row_count(index); ++row)
    if (index.id_type == IdType::kString ? item_name(index, row) == name : item_id(index, row) == id)
      return static_cast<int64_t>(row);
  return -1;
}

}  // namespace sidbeam
