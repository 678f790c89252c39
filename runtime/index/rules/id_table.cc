// SPDX-License-Identifier: Apache-2.0
#include "index/rules/id_table.h"

#include <bit>
#include <limits>

#include "index/read/items.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

bool has_ids(const IndexView& index) { return index.ids != nullptr || index.name_offsets != nullptr; }

bool has_id(const IndexView& index, uint64_t row, const ItemId& id) {
  return index.id_type == IdType::kString ? item_name(index, row) == id.name : index.ids[row] == id.number;
}

}  // namespace

ItemId id_of(const IndexView& index, uint64_t row) {
  if (index.id_type == IdType::kString) return {0, item_name(index, row)};
  return {index.ids[row], {}};
}

IdTable::IdTable(const IndexView& index, const Allocator& allocator)
    : mix_{secret_number(), secret_number() | 1, secret_number() | 1} {
  if (!has_ids(index)) return;
  constexpr uint64_t kTogether = 32;
  places_ = std::bit_ceil(2 * index.items);
  const int32_t width = index.items < std::numeric_limits<uint32_t>::max() ? 4 : 8;
  row_bits_ = static_cast<int>(std::bit_width(index.items));
  tag_bits_ = 8 * width - row_bits_;
  entries_ = UintBuffer(allocator, places_, width);
  const int64_t bytes = static_cast<int64_t>(places_) * width;
  void* const memory = const_cast<void*>(entries_.view().data);
  std::memset(memory, 0, static_cast<size_t>(bytes));
  uint64_t ahead[kTogether];
  for (uint64_t first = 0; first < index.items; first += kTogether) {
    const uint64_t count = std::min(kTogether, index.items - first);
    for (uint64_t i = 0; i < count; ++i) {
      ahead[i] = hash(index, id_of(index, first + i));
      prefetch(ahead[i]);
    }
    for (uint64_t i = 0; i < count; ++i) {
      const ItemId id = id_of(index, first + i);
      uint64_t place = 0;
      const int64_t known = probe(ahead[i], place, [&](uint64_t row) { return has_id(index, row, id); });
      if (known < 0) entries_.set(place, tag(ahead[i]) << row_bits_ | (first + i + 1));
      repeats_ = repeats_ || known >= 0;
    }
  }
}

uint64_t IdTable::hash(const IndexView& index, const ItemId& id) const {
  const uint64_t key = index.id_type == IdType::kString
                           ? xxh3_64(index.target, id.name.data(), id.name.size(), mix_.mask)
                           : static_cast<uint64_t>(id.number);
  return mix_key(mix_, key);
}

template <class IsIt>
int64_t IdTable::probe(uint64_t hash, uint64_t& place, const IsIt& is_it) const {
  for (place = hash & (places_ - 1);; place = (place + 1) & (places_ - 1)) {
    const uint64_t entry = entries_.view()[place];
    if (entry == 0) return -1;
    const uint64_t row = (entry & ((uint64_t{1} << row_bits_) - 1)) - 1;
    if (entry >> row_bits_ == tag(hash) && is_it(row)) return static_cast<int64_t>(row);
  }
}

void IdTable::prefetch(uint64_t hash) const { __builtin_prefetch(entries_.view().address(hash & (places_ - 1))); }

void IdTable::prefetch_id(const IndexView& index, uint64_t hash) const {
  uint64_t place;
  const int64_t row = probe(hash, place, [](uint64_t) { return true; });
  if (row < 0) return;
  if (index.id_type == IdType::kString) {
    __builtin_prefetch(index.name_offsets + row);
  } else {
    __builtin_prefetch(index.ids + row);
  }
}

int64_t IdTable::find(const IndexView& index, const ItemId& id, uint64_t hash) const {
  uint64_t place;
  return probe(hash, place, [&](uint64_t row) { return has_id(index, row, id); });
}

}  // namespace sidbeam
