// SPDX-License-Identifier: Apache-2.0
#include "beams.h"

#include <cmath>

namespace fuzz::abi {
namespace {

template <class T>
void append(std::vector<uint8_t>& bytes, const T* from, int64_t count) {
  const auto* data = reinterpret_cast<const uint8_t*>(from);
  bytes.insert(bytes.end(), data, data + static_cast<size_t>(count) * sizeof(T));
}

void append_slots(std::vector<uint8_t>& bytes, const sidbeam_beams& beams, int64_t first, int64_t count) {
  const int64_t at = first * beams.beams, places = count * beams.beams;
  append(bytes, beams.parents + at, places);
  append(bytes, beams.codes + at, places);
  append(bytes, beams.scores + at, places);
  append(bytes, beams.states + at, places);
  append(bytes, beams.live + first, count);
  append(bytes, beams.active + first, count);
  append(bytes, beams.level + first, count);
  append(bytes, beams.errors + first, count);
}

void check_live(const sidbeam_beams& beams, int64_t at, int32_t live_before, int32_t codes) {
  FUZZ_CHECK(std::isfinite(beams.scores[at]));
  FUZZ_CHECK(beams.states[at] >= 0);
  FUZZ_CHECK(beams.parents[at] >= 0 && beams.parents[at] < live_before);
  FUZZ_CHECK(beams.codes[at] >= -1 && beams.codes[at] <= codes);
}

void check_dead(const sidbeam_beams& beams, int64_t at) {
  FUZZ_CHECK(beams.parents[at] == -1 && beams.codes[at] == -1);
  FUZZ_CHECK(std::isinf(beams.scores[at]) && beams.scores[at] < 0);
  FUZZ_CHECK(beams.states[at] == -1);
}

}  // namespace

std::vector<uint8_t> snapshot(const sidbeam_beams& beams) {
  std::vector<uint8_t> bytes;
  append_slots(bytes, beams, 0, beams.slots);
  return bytes;
}

std::vector<uint8_t> snapshot(const sidbeam_beams& beams, int32_t slot) {
  std::vector<uint8_t> bytes;
  append_slots(bytes, beams, slot, 1);
  return bytes;
}

std::vector<int32_t> steppable(const sidbeam_beams& beams) {
  std::vector<int32_t> slots;
  for (int32_t slot = 0; slot < beams.slots; ++slot)
    if (beams.level[slot] >= 0 && beams.active[slot] > 0) slots.push_back(slot);
  return slots;
}

void check_step(const Session& session, int32_t slot, int32_t live, int32_t level) {
  const sidbeam_beams& beams = session.beams;
  const int32_t width = session.widths[static_cast<size_t>(slot)];
  FUZZ_CHECK(beams.level[slot] == level + 1);
  FUZZ_CHECK(beams.live[slot] >= 0 && beams.live[slot] <= width);
  FUZZ_CHECK(beams.active[slot] >= 0 && beams.active[slot] <= beams.live[slot]);
  FUZZ_CHECK((beams.errors[slot] & ~(SIDBEAM_SLOT_BAD_ROW | SIDBEAM_SLOT_BAD_LSE)) == 0);
  const int64_t first = int64_t{slot} * beams.beams;
  for (int32_t m = 0; m < beams.beams; ++m) {
    const int64_t at = first + m;
    if (m >= beams.live[slot]) {
      check_dead(beams, at);
      continue;
    }
    check_live(beams, at, live, session.slots[static_cast<size_t>(slot)]->codes[level]);
    if (m == 0) continue;
    const auto order = [&](int64_t i) { return std::pair(beams.parents[i], beams.codes[i]); };
    FUZZ_CHECK(beams.scores[at - 1] > beams.scores[at] ||
               (beams.scores[at - 1] == beams.scores[at] && order(at - 1) < order(at)));
  }
}

}  // namespace fuzz::abi
