// What the beams stand for.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"
#include "item_values.h"

namespace differential {
namespace {

// What one call wrote.
struct Buffers {
  std::vector<int64_t> ordinals, item_rows, offsets;
  std::vector<int32_t> sids, lengths, truncated, came_short;
};

struct Limits {
  int64_t per_sid = 0;
  int64_t total = 0;    // 0: none
  bool written = true;  // false: the caller wants no item rows, only to know how many
  bool distinct = false;
  size_t attribute = 0;  // that is capped
  int64_t cap = 0;       // 0: none
};

void check_slot_sids(const World& world, const SlotItems& slot, const Buffers& buffers, size_t i) {
  const auto beams = static_cast<size_t>(world.c.beams), levels = static_cast<size_t>(world.c.levels);
  const oracle::Catalogue& catalogue = world.catalogues[slot.catalogue];
  for (size_t m = 0; m < beams; ++m) {
    const bool live = m < slot.beams.size();
    oracle::Sid sid = live ? slot.beams[m].prefix : oracle::Sid{};
    const bool complete = live && (slot.beams[m].ended || static_cast<int>(sid.size()) == catalogue.levels());
    const int64_t ordinal = complete ? world.ordinal_of(slot.catalogue, oracle::ordinal_of(catalogue, sid)) : -1;
    expect(buffers.ordinals[i * beams + m] == ordinal, "items: slot ", i, " beam ", m, ": ordinal of ", text(sid),
           " is ", buffers.ordinals[i * beams + m], " and should be ", ordinal);
    expect(buffers.lengths[i * beams + m] == static_cast<int>(sid.size()), "items: slot ", i, " beam ", m,
           ": length is ", buffers.lengths[i * beams + m], " and should be ", sid.size());
    sid.resize(levels, -1);
    const auto from = buffers.sids.begin() + static_cast<std::ptrdiff_t>((i * beams + m) * levels);
    const oracle::Sid came(from, from + static_cast<std::ptrdiff_t>(levels));
    expect(came == sid, "items: slot ", i, " beam ", m, ": SID is ", text(came), " and should be ", text(sid));
  }
}

void check_slot_rows(const World& world, const SlotItems& slot, const Buffers& buffers, size_t i, const Limits& limits,
                     Coverage* coverage) {
  const auto beams = static_cast<size_t>(world.c.beams);
  const oracle::Catalogue& catalogue = world.catalogues[slot.catalogue];
  std::vector<int64_t> ordinals;  // the oracle's
  for (size_t m = 0; m < beams; ++m) {
    const bool complete = buffers.ordinals[i * beams + m] >= 0;
    ordinals.push_back(complete ? oracle::ordinal_of(catalogue, slot.beams[m].prefix) : -1);
  }
  oracle::Cap cap{limits.cap, {}};
  if (limits.cap > 0) cap.values = values_by_row(world.c, limits.attribute, catalogue);
  const auto lists = oracle::item_lists(catalogue, ordinals, limits.per_sid, limits.total, limits.distinct, cap);
  const auto all = oracle::item_lists(catalogue, ordinals, 0, 0, false);
  const int64_t* offsets = buffers.offsets.data() + i * (beams + 1);
  int64_t written = 0;
  for (size_t m = 0; m < beams; ++m) {
    expect(offsets[m] == written, "items: slot ", i, ": offset of beam ", m, " is ", offsets[m], " and should be ",
           written);
    for (int64_t row : lists.rows[m]) {
      const size_t at = i * static_cast<size_t>(limits.total) + static_cast<size_t>(written++);
      if (!limits.written) continue;
      const int64_t expected = world.row_of(slot.catalogue, row);
      expect(buffers.item_rows[at] == expected, "items: slot ", i, " beam ", m, ": item row is ", buffers.item_rows[at],
             " and should be ", expected);
    }
    if (all.rows[m].size() > 1) ++(*coverage)["beams with several items"];
  }
  expect(offsets[beams] == written, "items: slot ", i, ": last offset is ", offsets[beams], " and should be ", written);
  expect(buffers.truncated[i] == (lists.truncated ? 1 : 0), "items: slot ", i, ": truncated is ", buffers.truncated[i]);
  expect(buffers.came_short[i] == (lists.came_short ? 1 : 0), "items: slot ", i, ": came_short is ",
         buffers.came_short[i]);
  if (lists.truncated) ++(*coverage)["item lists cut by a limit"];
  if (lists.came_short)
    ++(*coverage)["item lists that came short, by " + std::string(kAttributeNames[limits.attribute])];
  if (limits.cap > 0 && lists.truncated) ++(*coverage)["item lists cut after a cap"];
  if (limits.total == 0) ++(*coverage)["item lists sized without a limit"];
  if (limits.distinct && oracle::item_lists(catalogue, ordinals, 0, 0, true).rows != all.rows)
    ++(*coverage)["item lists without items of better beams"];
}

Limits draw_limits(const World& world, uint64_t hash) {
  Limits limits{hash % 2 == 0 ? 0 : static_cast<int64_t>(1 + hash / 2 % 2), static_cast<int64_t>(1 + hash / 4 % 12),
                hash % 5 != 0, hash / 240 % 2 == 0};
  if (hash % 3 == 0) limits.total = world.c.beams * world.c.items * world.c.sids;
  limits.total = std::min<int64_t>(limits.total, 100000);
  if (!limits.written && hash / 60 % 2 == 0) limits.total = 0;
  if (world.c.attributes != 0 && hash / 480 % 4 != 0) {
    limits.attribute = hash / 1920 % kAttributes;
    limits.cap = static_cast<int64_t>(1 + hash / 7680 % 3);
  }
  return limits;
}

// The same lists from the ordinals of the beams, as a host has them of a device's or of a runner's result.
void check_listed(const World& world, const Loaded& loaded, const SlotItems& slot, const int64_t* ordinals,
                  const Limits& limits, Coverage* coverage) {
  const auto beams = static_cast<size_t>(world.c.beams);
  Buffers buffers{{ordinals, ordinals + beams},
                  std::vector<int64_t>(static_cast<size_t>(limits.total), -9),
                  std::vector<int64_t>(beams + 1, -9),
                  {},
                  {},
                  {-9},
                  {-9}};
  sidbeam_item_limits given = SIDBEAM_ITEM_LIMITS_INIT;
  given.limit_per_sid = limits.per_sid;
  given.limit = limits.total;
  given.distinct = limits.distinct ? 1 : 0;
  given.cap_attribute = limits.cap > 0 ? kAttributeNames[limits.attribute] : nullptr;
  given.cap = limits.cap;
  call("sidbeam_constraint_items", sidbeam_constraint_items, loaded.constraint.get(), ordinals, world.c.beams, &given,
       limits.written ? buffers.item_rows.data() : nullptr, buffers.offsets.data(), buffers.truncated.data(),
       buffers.came_short.data());
  check_slot_rows(world, slot, buffers, 0, limits, coverage);
}

}  // namespace

void check_items(const World& world, const std::vector<Loaded>& loaded, const Place& place,
                 const sidbeam_session* session, const std::vector<SlotItems>& slots, uint64_t draw,
                 Coverage* coverage) {
  const uint64_t hash = mix(world.seed(), kDrawItemLimits, draw);
  const auto beams = static_cast<size_t>(world.c.beams), levels = static_cast<size_t>(world.c.levels);
  const Limits limits = draw_limits(world, hash);
  Limits there = limits;  // what the session is asked: a device takes no cap
  if (place.device_type() != SIDBEAM_DEVICE_CPU) there.cap = 0;
  std::vector<int32_t> order;  // from the last to the first
  for (size_t i = slots.size(); i > 0; --i) order.push_back(static_cast<int32_t>(i - 1));
  const size_t count = order.size();
  Array<int64_t> ordinals(place, count * beams, -9), offsets(place, count * (beams + 1), -9);
  Array<int64_t> item_rows(place, count * static_cast<size_t>(limits.total), -9);
  Array<int32_t> sids(place, count * beams * levels, -9), lengths(place, count * beams, -9);
  Array<int32_t> truncated(place, count, -9);
  std::vector<int32_t> came_short(count, 0);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit_per_sid = limits.per_sid;
  items.limit = limits.total;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  items.lengths = lengths.data();
  items.item_rows = limits.written ? item_rows.data() : nullptr;
  items.offsets = offsets.data();
  items.truncated = truncated.data();
  items.distinct = limits.distinct ? 1 : 0;
  items.stream = place.stream();
  items.cap_attribute = there.cap > 0 ? kAttributeNames[there.attribute] : nullptr;
  items.cap = there.cap;
  if (place.device_type() == SIDBEAM_DEVICE_CPU) {
    came_short.assign(count, -9);
    items.came_short = came_short.data();
  }
  const SlotList list(order, count, hash / 120);  // `slots` are all there are
  call("sidbeam_session_get_items", sidbeam_session_get_items, session, list.slots, list.count, &items);
  const Buffers buffers{ordinals.fetch(), item_rows.fetch(), offsets.fetch(), sids.fetch(),
                        lengths.fetch(),  truncated.fetch(), came_short};
  for (size_t i = 0; i < count; ++i) {
    const SlotItems& slot = slots[static_cast<size_t>(order[i])];
    check_slot_sids(world, slot, buffers, i);
    check_slot_rows(world, slot, buffers, i, there, coverage);
    check_listed(world, loaded[slot.catalogue], slot, buffers.ordinals.data() + i * beams, limits, coverage);
  }
}

}  // namespace differential
