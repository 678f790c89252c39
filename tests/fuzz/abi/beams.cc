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
  if (beams.log_masses != nullptr) append(bytes, beams.log_masses + at, places);
  if (beams.perturbed == nullptr) return;
  append(bytes, beams.perturbed + at, places);
  append(bytes, beams.log_inclusions + at, places);
  append(bytes, beams.thresholds + first, count);
}

void check_live(const Session& session, int64_t at, int32_t codes) {
  const sidbeam_beams& beams = session.beams;
  FUZZ_CHECK(std::isfinite(beams.scores[at]));
  FUZZ_CHECK(beams.states[at] >= 0);
  FUZZ_CHECK(beams.codes[at] >= -1 && beams.codes[at] <= codes);
  if (beams.log_masses != nullptr) FUZZ_CHECK(std::isfinite(beams.log_masses[at]));
  if (beams.perturbed == nullptr) return;
  FUZZ_CHECK(!std::isnan(beams.perturbed[at]));
  FUZZ_CHECK(beams.log_inclusions[at] <= 0);
}

bool is_lowest(float value) { return std::isinf(value) && value < 0; }

void check_dead(const sidbeam_beams& beams, int64_t at) {
  FUZZ_CHECK(beams.parents[at] == -1 && beams.codes[at] == -1);
  FUZZ_CHECK(is_lowest(beams.scores[at]));
  FUZZ_CHECK(beams.states[at] == -1);
  FUZZ_CHECK(beams.log_masses == nullptr || is_lowest(beams.log_masses[at]));
  FUZZ_CHECK(beams.perturbed == nullptr || (is_lowest(beams.perturbed[at]) && is_lowest(beams.log_inclusions[at])));
}

// The order of beams that were searched for.
void check_order(const sidbeam_beams& beams, int64_t at) {
  const float* by = beams.perturbed != nullptr ? beams.perturbed : beams.scores;
  const auto order = [&](int64_t i) { return std::pair(beams.parents[i], beams.codes[i]); };
  FUZZ_CHECK(by[at - 1] > by[at] || (by[at - 1] == by[at] && order(at - 1) < order(at)));
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

Bystanders::Bystanders(const Session& session) : session_(session), before_(snapshot(session.beams)) {
  for (int32_t slot = 0; slot < session.config.slots; ++slot) slots_.push_back(snapshot(session.beams, slot));
}

void Bystanders::check(sidbeam_status status, const std::vector<int32_t>& named) const {
  FUZZ_CHECK(status == SIDBEAM_OK || snapshot(session_.beams) == before_);
  for (int32_t slot = 0; slot < session_.config.slots; ++slot)
    if (std::find(named.begin(), named.end(), slot) == named.end())
      FUZZ_CHECK(snapshot(session_.beams, slot) == slots_[static_cast<size_t>(slot)]);
}

bool is_live(const sidbeam_beams& beams, int32_t slot, int32_t m) {
  return beams.states[int64_t{slot} * beams.beams + m] != -1;
}

int32_t beams_in_use(const sidbeam_beams& beams, int32_t slot) {
  int32_t count = beams.beams;
  while (count > 0 && !is_live(beams, slot, count - 1)) --count;
  return count;
}

void check_step(const Session& session, int32_t slot, const Before& before) {
  const sidbeam_beams& beams = session.beams;
  const bool draws = session.config.mode == SIDBEAM_MODE_SAMPLE;
  const std::vector<int32_t>& widths = session.widths[static_cast<size_t>(slot)];
  const int32_t width = widths[std::min(static_cast<size_t>(before.level), widths.size() - 1)];
  FUZZ_CHECK(beams.level[slot] == before.level + 1);
  FUZZ_CHECK(beams.live[slot] >= 0 && beams.live[slot] <= width);
  FUZZ_CHECK(beams.active[slot] >= 0 && beams.active[slot] <= beams.live[slot]);
  FUZZ_CHECK((beams.errors[slot] & ~(SIDBEAM_SLOT_BAD_ROW | SIDBEAM_SLOT_BAD_LSE)) == 0);
  const int64_t first = int64_t{slot} * beams.beams;
  int32_t live = 0;
  for (int32_t m = 0; m < beams.beams; ++m) {
    const int64_t at = first + m;
    FUZZ_CHECK(draws || is_live(beams, slot, m) == (m < beams.live[slot]));
    if (!is_live(beams, slot, m)) {
      check_dead(beams, at);
      continue;
    }
    ++live;
    FUZZ_CHECK(m < width);
    check_live(session, at, session.slots[static_cast<size_t>(slot)]->codes[before.level]);
    const int32_t parent = beams.parents[at];
    FUZZ_CHECK(draws ? parent == (before.fresh ? 0 : m) : parent >= 0 && parent < before.live);
    if (m > 0 && !draws) check_order(beams, at);
  }
  FUZZ_CHECK(live == beams.live[slot]);
}

}  // namespace fuzz::abi
