// SPDX-License-Identifier: Apache-2.0
#include "index/read/repeats.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string_view>

#include "index/read/items.h"
#include "support/hashing.h"

namespace sidbeam {
namespace {

// An item row, and the id that it has or the hash of its name.
struct KeyedRow {
  uint64_t key, row;
};

struct RowOfItem {
  uint64_t row, item;
};

uint64_t key_of(const IndexView& index, uint64_t row) {
  if (index.id_type != IdType::kString) return static_cast<uint64_t>(index.ids[row]);
  const std::string_view name = item_name(index, row);
  return xxh3_64(index.target, name.data(), name.size());
}

bool same_item(const IndexView& index, const KeyedRow& a, const KeyedRow& b) {
  return a.key == b.key && (index.id_type != IdType::kString || item_name(index, a.row) == item_name(index, b.row));
}

// The bits that keys were hashed to, and those that were hit again.
class SeenKeys {
 public:
  SeenKeys(const Allocator& allocator, uint64_t keys)
      : mask_(std::bit_ceil(std::max<uint64_t>(keys, 8) * kBitsPerKey) - 1),
        once_(Buffer<uint64_t>::zeroed(allocator, words())),
        again_(Buffer<uint64_t>::zeroed(allocator, words())) {}
  void add(uint64_t key) {
    const uint64_t bit = mix_key({}, key) & mask_, mask = uint64_t{1} << bit % 64;
    const auto word = static_cast<int64_t>(bit / 64);
    (once_[word] & mask ? again_ : once_)[word] |= mask;
  }
  bool may_repeat(uint64_t key) const {
    const uint64_t bit = mix_key({}, key) & mask_;
    return (again_[static_cast<int64_t>(bit / 64)] >> bit % 64 & 1) != 0;
  }

 private:
  static constexpr uint64_t kBitsPerKey = 8;
  int64_t words() const { return static_cast<int64_t>((mask_ + 1) / 64); }
  uint64_t mask_;
  Buffer<uint64_t> once_, again_;
};

// The rows whose ids may repeat: one in eight or so of those that do not, so that few are sorted.
Buffer<KeyedRow> likely_rows(const IndexView& index, const Allocator& allocator) {
  SeenKeys seen(allocator, index.items);
  for (uint64_t row = 0; row < index.items; ++row) seen.add(key_of(index, row));
  int64_t count = 0;
  for (uint64_t row = 0; row < index.items; ++row) count += seen.may_repeat(key_of(index, row)) ? 1 : 0;
  Buffer<KeyedRow> rows(allocator, count);
  KeyedRow* to = rows.begin();
  for (uint64_t row = 0; row < index.items; ++row) {
    const uint64_t key = key_of(index, row);
    if (seen.may_repeat(key)) *to++ = {key, row};
  }
  return rows;
}

// In the order of their items, each item's rows rising.
void sort_by_item(const IndexView& index, Buffer<KeyedRow>& rows) {
  std::sort(rows.begin(), rows.end(), [&](const KeyedRow& a, const KeyedRow& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = index.id_type == IdType::kString ? item_name(index, a.row).compare(item_name(index, b.row)) : 0;
    return order != 0 ? order < 0 : a.row < b.row;
  });
}

// Moves the rows of items that have several to the front; returns how many there are, and counts their items.
int64_t keep_repeated(const IndexView& index, Buffer<KeyedRow>& rows, uint64_t& items) {
  KeyedRow* kept = rows.begin();
  for (const KeyedRow* first = rows.begin(); first != rows.end();) {
    const KeyedRow* last = first + 1;
    while (last != rows.end() && same_item(index, *first, *last)) ++last;
    if (last - first > 1) {
      kept = std::copy(first, last, kept);
      ++items;
    }
    first = last;
  }
  return kept - rows.begin();
}

}  // namespace

ItemRepeats::ItemRepeats(const IndexView& index, const Allocator& allocator) {
  if (index.ids == nullptr && index.name_offsets == nullptr) return;
  Buffer<KeyedRow> rows = likely_rows(index, allocator);
  sort_by_item(index, rows);
  uint64_t items = 0;
  const int64_t count = keep_repeated(index, rows, items);
  if (count == 0) return;
  const int32_t width = index.items <= std::numeric_limits<uint32_t>::max() ? 4 : 8;
  const auto repeated = static_cast<uint64_t>(count);
  for (UintBuffer* array : {&rows_, &items_, &ordinals_}) *array = UintBuffer(allocator, repeated, width);
  offsets_ = UintBuffer(allocator, items + 1, width);
  Buffer<RowOfItem> of_items(allocator, count);
  uint64_t item = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || !same_item(index, rows[i - 1], rows[i])) offsets_.set(item++, static_cast<uint64_t>(i));
    ordinals_.set(static_cast<uint64_t>(i), item_ordinal(index, rows[i].row));
    of_items[i] = {rows[i].row, item - 1};
  }
  offsets_.set(items, repeated);
  std::sort(of_items.begin(), of_items.end(), [](const RowOfItem& a, const RowOfItem& b) { return a.row < b.row; });
  for (int64_t i = 0; i < count; ++i) {
    rows_.set(static_cast<uint64_t>(i), of_items[i].row);
    items_.set(static_cast<uint64_t>(i), of_items[i].item);
  }
  view_ = {repeated, items, rows_.view(), items_.view(), offsets_.view(), ordinals_.view()};
}

const RepeatsView& LazyRepeats::of(const IndexView& index, const Allocator& allocator) const {
  const ItemRepeats* known = found_.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made = std::make_unique<const ItemRepeats>(index, allocator);
    if (found_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) known = made.release();
  }
  return known->view();
}

}  // namespace sidbeam
