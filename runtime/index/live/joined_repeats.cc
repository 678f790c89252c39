// SPDX-License-Identifier: Apache-2.0
#include "index/live/joined_repeats.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "index/overlay.h"
#include "index/read/items.h"

namespace sidbeam {
namespace {

// A row of an item that has several, which its first row in the base names or, failing that, in the delta.
struct Entry {
  uint64_t item, ordinal, row;

  friend bool operator<(const Entry& a, const Entry& b) {
    return std::tie(a.item, a.ordinal, a.row) < std::tie(b.item, b.ordinal, b.row);
  }
  friend bool operator==(const Entry& a, const Entry& b) { return a.item == b.item && a.row == b.row; }
};

// [repeats.repeated] the first row of each item.
std::vector<uint64_t> first_rows(const RepeatsView& repeats) {
  std::vector<uint64_t> first(repeats.repeated, ~uint64_t{0});
  for (uint64_t i = 0; i < repeats.count; ++i)
    first[repeats.items[i]] = std::min<uint64_t>(first[repeats.items[i]], repeats.rows[i]);
  return first;
}

std::vector<Entry> find_entries(const IndexView& index, const RepeatsView& of_base, const IdTable& base_ids,
                                const RepeatsView& of_delta) {
  const OverlayView& overlay = *index.overlay;
  const IndexView& delta = *overlay.delta;
  std::vector<Entry> entries;
  const std::vector<uint64_t> base_items = first_rows(of_base), delta_items = first_rows(of_delta);
  for (uint64_t i = 0; i < of_base.count; ++i)
    entries.push_back({base_items[of_base.items[i]], item_ordinal(index, of_base.rows[i]), of_base.rows[i]});
  uint64_t repeat = 0;  // of the delta
  for (uint64_t row = 0; row < delta.items; ++row) {
    const bool repeats = repeat < of_delta.count && of_delta.rows[repeat] == row;
    const uint64_t first = repeats ? delta_items[of_delta.items[repeat]] : row;
    repeat += repeats ? 1 : 0;
    const ItemId id = id_of(delta, row);
    const int64_t in_base = base_ids.find(index, id, base_ids.hash(index, id));
    if (in_base < 0 && !repeats) continue;
    const uint64_t item = in_base >= 0 ? static_cast<uint64_t>(in_base) : index.items + first;
    entries.push_back({item, item_ordinal(index, overlay.rows[row]), overlay.rows[row]});
    if (in_base >= 0) entries.push_back({item, item_ordinal(index, item), item});
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

}  // namespace

JoinedRepeats::JoinedRepeats(const IndexView& index, const RepeatsView& of_base, const IdTable& base_ids,
                             const RepeatsView& of_delta, const Allocator& allocator) {
  std::vector<Entry> entries = find_entries(index, of_base, base_ids, of_delta);
  const uint64_t count = entries.size();
  ordinals_ = UintBuffer(allocator, count, uint_width(sid_count(index)));
  std::vector<uint64_t> offsets;
  uint64_t before = ~uint64_t{0};
  for (uint64_t i = 0; i < count; ++i) {
    ordinals_.set(i, entries[i].ordinal);
    if (entries[i].item != before) offsets.push_back(i);
    before = entries[i].item;
    entries[i].item = offsets.size() - 1;
  }
  offsets.push_back(count);
  offsets_ = UintBuffer(allocator, offsets.size(), uint_width(count));
  for (uint64_t i = 0; i < offsets.size(); ++i) offsets_.set(i, offsets[i]);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.row < b.row; });
  rows_ = UintBuffer(allocator, count, uint_width(row_count(index)));
  items_ = UintBuffer(allocator, count, uint_width(count));
  for (uint64_t i = 0; i < count; ++i) {
    rows_.set(i, entries[i].row);
    items_.set(i, entries[i].item);
  }
  view_ = {count, offsets.size() - 1, rows_.view(), items_.view(), offsets_.view(), ordinals_.view()};
}

}  // namespace sidbeam
