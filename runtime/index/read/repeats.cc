// SPDX-License-Identifier: Apache-2.0
#include "index/read/repeats.h"

#include <algorithm>
#include <bit>
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

// The rows whose ids may repeat, rising: one in eight or so of those that do not.
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

// Likely rows, each with the first of its item's among them. (Sorting them by item, and then the repeated ones by row,
// took four times as long.)
class Groups {
 public:
  Groups(const IndexView& index, const Buffer<KeyedRow>& rows, const Allocator& allocator)
      : width_(uint_width(static_cast<uint64_t>(rows.size()))),
        first_(allocator, static_cast<uint64_t>(rows.size()), width_),
        sizes_(Buffer<uint64_t>::zeroed(allocator, rows.size())) {
    const uint64_t places = std::bit_ceil(2 * static_cast<uint64_t>(rows.size()));
    UintBuffer table(allocator, places, width_);  // the first row of an item, plus one; 0: none
    for (uint64_t place = 0; place < places; ++place) table.set(place, 0);
    for (int64_t i = 0; i < rows.size(); ++i) {
      uint64_t place = mix_key({}, rows[i].key) & (places - 1);
      const auto is_others = [&](uint64_t held) {
        return held != 0 && !same_item(index, rows[static_cast<int64_t>(held) - 1], rows[i]);
      };
      while (is_others(table.view()[place])) place = (place + 1) & (places - 1);
      if (table.view()[place] == 0) table.set(place, static_cast<uint64_t>(i) + 1);
      first_.set(static_cast<uint64_t>(i), table.view()[place] - 1);
      ++sizes_[first_of(i)];
    }
  }
  int64_t first_of(int64_t row) const { return static_cast<int64_t>(first_.view()[static_cast<uint64_t>(row)]); }
  uint64_t size_at(int64_t first) const { return sizes_[first]; }

 private:
  int32_t width_;
  UintBuffer first_;
  Buffer<uint64_t> sizes_;  // by first rows
};

// The ordinals of rows that rise, by a walk.
class RisingOrdinals {
 public:
  explicit RisingOrdinals(const IndexView& index) : index_(index) {}
  uint64_t of(uint64_t row) {
    if (!index_.item_offsets) return std::min(row, index_.sids - 1);
    while (ordinal_ + 1 < index_.sids && index_.item_offsets[ordinal_ + 1] <= row) ++ordinal_;
    return ordinal_;
  }

 private:
  const IndexView& index_;
  uint64_t ordinal_ = 0;
};

}  // namespace

ItemRepeats::ItemRepeats(const IndexView& index, const Allocator& allocator) {
  if (index.ids == nullptr && index.name_offsets == nullptr) return;
  const Buffer<KeyedRow> rows = likely_rows(index, allocator);
  const Groups groups(index, rows, allocator);
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (groups.size_at(i) < 2) continue;
    ++view_.repeated;
    view_.count += groups.size_at(i);
  }
  if (view_.count == 0) return;
  const int32_t width = uint_width(index.items);
  for (UintBuffer* array : {&rows_, &items_, &ordinals_}) *array = UintBuffer(allocator, view_.count, width);
  offsets_ = UintBuffer(allocator, view_.repeated + 1, width);
  Buffer<uint64_t> numbers(allocator, rows.size());                        // of items, by first rows
  Buffer<uint64_t> ends(allocator, static_cast<int64_t>(view_.repeated));  // of their ordinals so far
  RisingOrdinals ordinals(index);
  uint64_t row = 0, item = 0, end = 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int64_t first = groups.first_of(i);
    if (groups.size_at(first) < 2) continue;
    if (first == i) {
      numbers[i] = item;
      ends[static_cast<int64_t>(item)] = end;
      offsets_.set(item++, end);
      end += groups.size_at(i);
    }
    rows_.set(row, rows[i].row);
    items_.set(row++, numbers[first]);
    ordinals_.set(ends[static_cast<int64_t>(numbers[first])]++, ordinals.of(rows[i].row));
  }
  offsets_.set(item, end);
  view_.rows = rows_.view(), view_.items = items_.view();
  view_.offsets = offsets_.view(), view_.ordinals = ordinals_.view();
}

}  // namespace sidbeam
