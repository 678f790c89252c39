// SPDX-License-Identifier: Apache-2.0
#include "index/rules/id_table.h"

#include <bit>
#include <limits>

#include "index/read/items.h"
#include "support/mapped_file.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

bool has_ids(const IndexView& index) { return index.ids != nullptr || index.name_offsets != nullptr; }

ItemId id_of(const IndexView& index, uint64_t row) {
  if (index.id_type == IdType::kString) return {0, item_name(index, row)};
  return {index.ids[row], {}};
}

bool has_id(const IndexView& index, uint64_t row, const ItemId& id) {
  return index.id_type == IdType::kString ? item_name(index, row) == id.name : index.ids[row] == id.number;
}

}  // namespace

IdTable::IdTable(const IndexView& index, const Allocator& allocator)
    : mix_{secret_number(), secret_number() | 1, secret_number() | 1} {
  if (!has_ids(index)) return;
  constexpr uint64_t kTogether = 32;
  places_ = std::bit_ceil(2 * index.items);
  const int32_t width = index.items < std::numeric_limits<uint32_t>::max() ? 4 : 8;
  rows_ = UintBuffer(allocator, places_, width);
  bytes_ = static_cast<int64_t>(places_) * width;
  void* const memory = const_cast<void*>(rows_.view().data);
  advise_huge_pages(memory, bytes_);  // a lookup is a walk through the page table otherwise, as well as a miss
  std::memset(memory, 0, static_cast<size_t>(bytes_));
  uint64_t ahead[kTogether];
  for (uint64_t first = 0; first < index.items; first += kTogether) {
    const uint64_t count = std::min(kTogether, index.items - first);
    for (uint64_t i = 0; i < count; ++i) {
      ahead[i] = place_of(index, id_of(index, first + i));
      prefetch(ahead[i]);
    }
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t row = first + i;
      const ItemId id = id_of(index, row);
      uint64_t place = ahead[i], held = rows_.view()[place];
      for (; held != 0 && !has_id(index, held - 1, id); held = rows_.view()[place]) place = (place + 1) & (places_ - 1);
      if (held == 0) rows_.set(place, row + 1);
      repeats_ = repeats_ || held != 0;
    }
  }
}

uint64_t IdTable::place_of(const IndexView& index, const ItemId& id) const {
  const uint64_t key = index.id_type == IdType::kString
                           ? xxh3_64(index.target, id.name.data(), id.name.size(), mix_.mask)
                           : static_cast<uint64_t>(id.number);
  return mix_key(mix_, key) & (places_ - 1);
}

int64_t IdTable::find_from(const IndexView& index, const ItemId& id, uint64_t place) const {
  for (;; place = (place + 1) & (places_ - 1)) {
    const uint64_t held = rows_.view()[place];
    if (held == 0) return -1;
    if (has_id(index, held - 1, id)) return static_cast<int64_t>(held - 1);
  }
}

int64_t IdTable::find(const IndexView& index, const ItemId& id) const {
  return places_ == 0 ? -1 : find_from(index, id, place_of(index, id));
}

}  // namespace sidbeam
