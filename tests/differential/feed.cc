// Laying out rows.
// SPDX-License-Identifier: Apache-2.0
#include "feed.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace differential {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Where row (i, r) begins, in elements from data; here a stride of 0 repeats.
struct Layout {
  int64_t slots = 0, rows = 0, columns = 0;  // slots 0: rows alone
  int64_t slot_stride = 0, row_stride = 0;

  int64_t at(int64_t i, int64_t r) const { return i * slot_stride + r * row_stride; }
  // What a slot_stride of 0 would stand for in rows; 0 where that is refused.
  int64_t dense_slot_stride() const { return row_stride == 0 ? columns : row_stride < 0 ? 0 : rows * row_stride; }
};

// A stride as rows have it. Dense ones are left out by every other case.
int64_t given_stride(const World& world, int64_t stride, int64_t dense) {
  if (stride == 0) return SIDBEAM_BROADCAST;
  return stride == dense && mix(world.seed(), kDrawLayout) % 2 == 0 ? 0 : stride;
}

// Memory for a layout, all NaN; sets rows->data so that the lowest element is `misalign` elements into it.
void allocate(const World& world, const Layout& layout, int64_t misalign, Feed* feed) {
  int64_t lowest = 0, highest = 0;
  for (const int64_t i : {int64_t{0}, std::max<int64_t>(layout.slots, 1) - 1}) {
    for (const int64_t r : {int64_t{0}, layout.rows - 1}) {
      lowest = std::min(lowest, layout.at(i, r));
      highest = std::max(highest, layout.at(i, r));
    }
  }
  const auto size = static_cast<size_t>(highest - lowest + layout.columns + misalign);
  const auto dtype = static_cast<oracle::Dtype>(world.c.dtype);
  const int64_t origin = misalign - lowest;
  if (dtype == oracle::Dtype::kF32) {
    feed->wide.assign(size, kNan);
    feed->data = feed->wide.data() + origin;
  } else {
    feed->narrow.assign(size, static_cast<uint16_t>(oracle::encode(dtype, kNan)));
    feed->data = feed->narrow.data() + origin;
  }
  feed->rows.data = feed->data;
  feed->rows.dtype = static_cast<int32_t>(world.c.dtype);
  feed->rows.slots = layout.slots;
  feed->rows.rows = layout.rows;
  feed->rows.columns = layout.columns;
  feed->rows.row_stride = given_stride(world, layout.row_stride, layout.columns);
  if (layout.slots > 0) feed->rows.slot_stride = given_stride(world, layout.slot_stride, layout.dense_slot_stride());
}

void write(Feed* feed, int64_t at, const RawRow& row) {
  for (size_t k = 0; k < row.elements.size(); ++k) {
    const int64_t where = at + static_cast<int64_t>(k);
    if (feed->rows.dtype == SIDBEAM_DTYPE_F32) {
      static_cast<float*>(feed->data)[where] = std::bit_cast<float>(row.elements[k]);
    } else {
      static_cast<uint16_t*>(feed->data)[where] = static_cast<uint16_t>(row.elements[k]);
    }
  }
}

// Which row a fed beam has, `slots[i]`'s beam m: rows may be shared by slots, or by beams, or follow from their place.
struct Shared {
  bool by_slots, by_beams;
};
struct RowSource {
  std::function<RawRow(size_t i, size_t m, const Shared& shared)> by_slot;
  std::function<RawRow(size_t i, size_t m, int32_t place)> by_map;
  std::function<bool(size_t i, size_t m, uint64_t hash)> repeats;  // with a map: the row of the fed beam before
};

// The strides of Case::layout; 6 and 7 are row maps, whose rows have their own strides.
Layout slots_layout(const World& world, int64_t slots, int64_t rows, int64_t columns, uint64_t hash) {
  Layout layout{slots, rows, columns, 0, columns};
  if (world.c.layout >= 1) layout.row_stride += static_cast<int64_t>(hash % 7);
  layout.slot_stride = rows * layout.row_stride;
  if (world.c.layout >= 1) layout.slot_stride += static_cast<int64_t>(hash / 7 % 5);
  if (world.c.layout == 2 || world.c.layout == 3) layout.row_stride = -layout.row_stride;
  if (world.c.layout == 3) layout.slot_stride = -layout.slot_stride;
  if (world.c.layout == 4) layout.row_stride = 0;
  if (world.c.layout == 4 && hash % 2 == 0) layout.slot_stride = columns;
  if (world.c.layout == 5) layout.slot_stride = 0;
  return layout;
}

void place_by_slot(const World& world, uint64_t step, const std::vector<std::vector<bool>>& fed, int64_t columns,
                   const RowSource& source, Feed* feed) {
  const auto beams = static_cast<size_t>(world.c.beams);
  size_t needed = 1;
  for (const auto& beam : fed) {
    for (size_t m = 0; m < beam.size(); ++m) needed = beam[m] ? std::max(needed, m + 1) : needed;
  }
  const uint64_t hash = mix(world.seed(), kDrawLayout, step, 1);
  const size_t rows = needed == 1 && hash % 2 == 0 ? 1 : beams;
  const Layout layout =
      slots_layout(world, static_cast<int64_t>(fed.size()), static_cast<int64_t>(rows), columns, hash);
  allocate(world, layout, world.c.misalign, feed);
  if (world.c.given_lse != 0) feed->lse.assign(fed.size() * rows, kNan);
  for (size_t i = 0; i < fed.size(); ++i) {
    for (size_t m = 0; m < beams; ++m) {
      if (!fed[i][m]) continue;
      RawRow row = source.by_slot(i, m, {layout.slot_stride == 0, layout.row_stride == 0});
      write(feed, layout.at(static_cast<int64_t>(i), static_cast<int64_t>(m)), row);
      if (row.lse) feed->lse[i * rows + m] = *row.lse;
      feed->seen[i][m] = std::move(row);
    }
  }
}

// Rows of fed beams in a shuffled order, some left unused, some shared by two beams.
void place_by_map(const World& world, uint64_t step, const std::vector<std::vector<bool>>& fed, int64_t columns,
                  const RowSource& source, Feed* feed) {
  const auto beams = static_cast<size_t>(world.c.beams);
  const uint64_t hash = mix(world.seed(), kDrawLayout, step, 2);
  size_t count = hash % 3;
  for (const auto& beam : fed) count += static_cast<size_t>(std::count(beam.begin(), beam.end(), true));
  count = std::max<size_t>(count, 1);
  std::vector<int32_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = static_cast<int32_t>(i);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[mix(hash, i) % i]);
  Layout layout{0, static_cast<int64_t>(count), columns, 0, columns + static_cast<int64_t>(hash % 3)};
  if (world.c.layout == 7) layout.row_stride = -layout.row_stride;
  allocate(world, layout, world.c.misalign, feed);
  if (world.c.given_lse != 0) feed->lse.assign(count, kNan);
  feed->row_map.assign(fed.size() * beams, -1);
  size_t next = 0;
  for (size_t i = 0; i < fed.size(); ++i) {
    for (size_t m = 0; m < beams; ++m) {
      if (!fed[i][m]) continue;
      if (next == 0 || !source.repeats(i, m, mix(hash, i, m))) ++next;  // else the row of the beam before
      const int32_t r = order[next - 1];
      feed->row_map[i * beams + m] = r;
      RawRow row = source.by_map(i, m, r);
      write(feed, layout.at(0, r), row);
      if (row.lse) feed->lse[static_cast<size_t>(r)] = *row.lse;
      feed->seen[i][m] = std::move(row);
    }
  }
}

}  // namespace

Delivery::Delivery(const Place& place, const Feed& feed)
    : rows(feed.rows),
      narrow(place, feed.narrow),
      wide(place, feed.wide),
      lse(place, feed.lse),
      row_map(place, feed.row_map) {
  if (feed.rows.dtype == SIDBEAM_DTYPE_F32) {
    data = wide.data() + (static_cast<const float*>(feed.rows.data) - feed.wide.data());
  } else {
    data = narrow.data() + (static_cast<const uint16_t*>(feed.rows.data) - feed.narrow.data());
  }
  rows.data = data;
  rows.device_type = place.device_type();
  rows.device_id = place.device_id();
}

namespace {

Feed placed(const World& world, uint64_t step, const std::vector<std::vector<bool>>& fed, int64_t columns,
            const RowSource& source) {
  Feed feed;
  feed.seen.assign(fed.size(), std::vector<RawRow>(static_cast<size_t>(world.c.beams)));
  if (world.c.layout < 6) {
    place_by_slot(world, step, fed, columns, source, &feed);
  } else {
    place_by_map(world, step, fed, columns, source, &feed);
  }
  return feed;
}

}  // namespace

Feed make_feed(const World& world, uint64_t step, const std::vector<int>& slots,
               const std::vector<std::vector<bool>>& fed) {
  const int64_t columns = world.columns + static_cast<int64_t>(mix(world.seed(), kDrawLayout, step) % 3);
  const RowSource source{[&](size_t i, size_t m, const Shared& shared) {
                           const auto slot = static_cast<uint64_t>(slots[i]);
                           return make_row(world, {step, shared.by_slots ? 0 : slot, shared.by_beams ? 0 : m}, columns);
                         },
                         [&](size_t, size_t, int32_t place) {
                           return make_row(world, {step, 1000000, static_cast<uint64_t>(place)}, columns);
                         },
                         [](size_t, size_t, uint64_t hash) { return hash % 8 == 0; }};
  return placed(world, step, fed, columns, source);
}

Feed feed_of(const World& world, uint64_t step, const std::vector<std::vector<const RawRow*>>& rows) {
  std::vector<std::vector<bool>> fed;
  int64_t columns = 0;
  for (const auto& slot : rows) {
    fed.emplace_back();
    for (const RawRow* row : slot) {
      fed.back().push_back(row != nullptr);
      if (row != nullptr) columns = static_cast<int64_t>(row->elements.size());
    }
  }
  const RawRow* before = nullptr;
  const RowSource source{[&](size_t i, size_t m, const Shared&) { return *rows[i][m]; },
                         [&](size_t i, size_t m, int32_t) { return *(before = rows[i][m]); },
                         [&](size_t i, size_t m, uint64_t) { return rows[i][m] == before; }};
  return placed(world, step, fed, columns, source);
}

Feed plain_feed(const World& world, const std::vector<RawRow>& rows, int64_t beams, int64_t misalign) {
  int64_t columns = world.columns;
  for (const RawRow& row : rows) columns = std::max(columns, static_cast<int64_t>(row.elements.size()));
  Feed feed;
  allocate(world, {1, beams, columns, beams * columns, columns}, misalign, &feed);
  if (world.c.given_lse != 0) feed.lse.assign(static_cast<size_t>(beams), kNan);
  for (size_t m = 0; m < rows.size(); ++m) {
    write(&feed, static_cast<int64_t>(m) * columns, rows[m]);
    if (rows[m].lse) feed.lse[m] = *rows[m].lse;
  }
  return feed;
}

}  // namespace differential
