// What beams stand for, into any combination of the caller's buffers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "beams.h"
#include "caps.h"
#include "steps.h"

namespace fuzz::abi {
namespace {

struct Buffers {
  Buffers(World& world, const Session& session, int64_t count, int64_t limit)
      : places(static_cast<size_t>(count) * static_cast<size_t>(session.config.beams)),
        ordinals(world, places),
        sids(world, places * static_cast<size_t>(session.facts->levels)),
        lengths(world, places),
        item_rows(world, static_cast<size_t>(count * limit)),
        offsets(world, places + static_cast<size_t>(count)),
        truncated(world, static_cast<size_t>(count)),
        came_short(world, static_cast<size_t>(count)) {}
  size_t places;
  Out<int64_t> ordinals;
  Out<int32_t> sids, lengths;
  Out<int64_t> item_rows, offsets;
  Out<int32_t> truncated, came_short;
};

void check_sid(const Session& session, const Facts& facts, const int32_t* sid, int32_t length) {
  FUZZ_CHECK(length >= 0 && length <= session.facts->levels);
  for (int32_t l = 0; l < session.facts->levels; ++l)
    FUZZ_CHECK(l < length ? sid[l] >= 0 && sid[l] < facts->codes[l] : sid[l] == -1);
}

void check_rows(const Facts& facts, const sidbeam_items& items, int64_t i, int32_t beams) {
  const int64_t* offsets = items.offsets + i * (beams + 1);
  FUZZ_CHECK(offsets[0] == 0);
  for (int32_t m = 0; m < beams; ++m) {
    FUZZ_CHECK(offsets[m] <= offsets[m + 1]);
    if (items.limit_per_sid > 0) FUZZ_CHECK(offsets[m + 1] - offsets[m] <= items.limit_per_sid);
  }
  FUZZ_CHECK(items.limit == 0 || offsets[beams] <= items.limit);
  for (int64_t r = 0; items.item_rows != nullptr && r < offsets[beams]; ++r)
    FUZZ_CHECK(items.item_rows[i * items.limit + r] >= 0 && items.item_rows[i * items.limit + r] < facts->items);
}

void check_slot(const Session& session, int32_t slot, int64_t i, const sidbeam_items& items) {
  const Facts& facts = session.slots[static_cast<size_t>(slot)];
  const int32_t beams = session.config.beams;
  for (int32_t m = 0; m < beams; ++m) {
    const int64_t at = i * beams + m;
    const bool live = is_live(session.beams, slot, m);
    if (items.ordinals != nullptr)
      FUZZ_CHECK(items.ordinals[at] >= -1 && items.ordinals[at] < (live ? facts->sids : 0));
    if (items.lengths != nullptr) FUZZ_CHECK(live || items.lengths[at] == 0);
    if (items.lengths != nullptr && items.sids != nullptr && live)
      check_sid(session, facts, items.sids + at * session.facts->levels, items.lengths[at]);
  }
  if (items.offsets != nullptr) check_rows(facts, items, i, beams);
  if (items.truncated != nullptr) FUZZ_CHECK(items.truncated[i] == 0 || items.truncated[i] == 1);
  if (items.came_short == nullptr) return;
  FUZZ_CHECK(items.came_short[i] == 0 || (items.came_short[i] == 1 && items.cap > 0));
  if (items.came_short[i] != 0 && items.offsets != nullptr && items.limit > 0)
    FUZZ_CHECK(items.offsets[i * (beams + 1) + beams] < items.limit);
}

}  // namespace

void get_items(World& world) {
  if (world.sessions.empty()) return;
  const Session& session = *world.any(world.sessions);
  const int32_t fault = world.fault(7), slots = session.config.slots;
  const bool listed = world.flip();
  const int32_t count = listed ? world.in(0, slots) : slots;
  std::vector<int32_t> named;
  for (int32_t i = 0; i < count; ++i) named.push_back(i);
  Array<int32_t> list;
  if (listed) {  // one that repeats is right here
    for (int32_t& slot : named) slot = world.in(0, slots - 1);
    std::vector<int32_t> wrong = named;
    if (fault == 1 && count > 0) wrong.back() = world.flip() ? -1 : slots;
    world.expected.fails_if(fault == 1 && count > 0, SIDBEAM_INVALID_ARGUMENT);
    list = Array<int32_t>(std::move(wrong));
  }
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit_per_sid = world.in(0, 3);
  items.limit = world.in(0, 30);
  items.distinct = fault == 7 ? (world.flip() ? -1 : 2) : world.in(0, 1);
  Buffers buffers(world, session, count, items.limit);
  const int32_t which = world.in(0, 127);
  if ((which & 1) != 0) items.ordinals = buffers.ordinals.get();
  if ((which & 2) != 0) items.sids = buffers.sids.get();
  if ((which & 4) != 0) items.lengths = buffers.lengths.get();
  if ((which & 8) != 0) items.item_rows = buffers.item_rows.get();
  if ((which & 16) != 0 || (items.item_rows != nullptr && fault != 2)) items.offsets = buffers.offsets.get();
  if ((which & 32) != 0) items.truncated = buffers.truncated.get();
  if ((which & 64) != 0) items.came_short = buffers.came_short.get();
  const DrawnCap cap = draw_cap(world);
  items.cap_attribute = cap.attribute;
  items.cap = cap.most;
  world.expected.fails_if(items.item_rows != nullptr && (items.offsets == nullptr || items.limit == 0),
                          SIDBEAM_INVALID_ARGUMENT);
  if (items.item_rows == nullptr && world.one_in(4)) items.limit = INT64_MAX;  // a limit alone needs no room
  if (fault == 3) items.limit = -1;
  if (fault == 4) items.limit_per_sid = -1;
  world.expected.fails_if(fault >= 3, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_items> argument(world, items);
  const int64_t asked = fault == 5 ? (world.flip() ? -1 : slots + 1) : listed || world.flip() ? count : 0;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_get_items)(fault == 6 ? nullptr : session.handle, list.get(), asked,
                                  const_cast<sidbeam_items*>(argument.get()), err);
  });
  if (status != SIDBEAM_OK) return;
  for (size_t i = 0; i < named.size(); ++i) check_slot(session, named[i], static_cast<int64_t>(i), items);
}

}  // namespace fuzz::abi
