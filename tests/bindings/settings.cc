// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <limits>

namespace shared_cases {
namespace {

using differential::Session;
using differential::Snapshot;

constexpr int64_t kSlots = 3;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Of the slots from their start, and those of the second step, where 0 is the slot's own.
constexpr float kTemperatures[kSlots] = {0, 0.5F, 2}, kSoftCaps[kSlots] = {0, 3, 1.5F};
constexpr float kStepTemperatures[kSlots] = {0.25F, 0, 3}, kStepSoftCaps[kSlots] = {2, kInfinity, 0};
constexpr int32_t kPrefixLengths[kSlots] = {0, 1, 0};

Session make_session(const SettingsCase& c) {
  const differential::Vocabulary vocabulary(c.world);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.beams = 4;
  config.constraint = c.loaded.constraint.get();
  config.vocabulary = &vocabulary.view;
  sidbeam_session* session = nullptr;
  differential::call("sidbeam_session_create", sidbeam_session_create, c.machine.best().runtime.get(), &config,
                     &session);
  return Session(session);
}

// One logits row per slot, which all its beams share.
std::vector<float> make_logits(const SettingsCase& c, int64_t step) {
  std::vector<float> logits(static_cast<size_t>(kSlots * c.world.columns));
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>((i * 37 + static_cast<size_t>(step) * 11) % 23) / 4 - 2;
  return logits;
}

sidbeam_rows shared_rows(const SettingsCase& c, const std::vector<float>& logits) {
  sidbeam_rows rows = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, kSlots, 4, c.world.columns);
  rows.row_stride = SIDBEAM_BROADCAST;
  return rows;
}

void keep_beams(const SettingsCase& c, sidbeam_session* session, std::vector<Snapshot>* out) {
  const sidbeam_beams beams = differential::beams_of(*c.machine.best().place, session);
  for (size_t slot = 0; slot < kSlots; ++slot) out->push_back(differential::snapshot(beams, slot));
}

const int32_t* first_code(const SettingsCase& c) { return c.world.catalogues[0].sids[0].data(); }

void start_with_lists(const SettingsCase& c, sidbeam_session* session) {
  constexpr int32_t kAll[kSlots] = {0, 1, 2};
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = kAll;
  start.count = kSlots;
  start.prefixes = first_code(c);
  start.prefix_lengths = kPrefixLengths;
  start.prefix_stride = SIDBEAM_BROADCAST;
  start.inverse_temperatures = kTemperatures;
  start.soft_caps = kSoftCaps;
  differential::call("sidbeam_session_start", sidbeam_session_start, session, &start);
}

void step_with_lists(const SettingsCase& c, sidbeam_session* session, int64_t at, const float* lse) {
  const std::vector<float> logits = make_logits(c, at);
  const sidbeam_rows rows = shared_rows(c, logits);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  step.lse = lse;
  if (at == 1) {
    step.inverse_temperatures = kStepTemperatures;
    step.soft_caps = kStepSoftCaps;
  }
  differential::call("sidbeam_session_step", sidbeam_session_step, session, &step);
}

float chosen(float of_step, float of_slot) { return of_step != 0 ? of_step : of_slot; }

void step_alone(const SettingsCase& c, sidbeam_session* session, int64_t at, int32_t slot) {
  const std::vector<float> logits = make_logits(c, at);
  const float* first = logits.data() + slot * c.world.columns;
  std::vector<float> copies;
  for (int beam = 0; beam < 4; ++beam) copies.insert(copies.end(), first, first + c.world.columns);
  const sidbeam_rows rows = sidbeam_rows_dense(copies.data(), SIDBEAM_DTYPE_F32, 1, 4, c.world.columns);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.slots = &slot;
  step.count = 1;
  step.rows = &rows;
  step.inverse_temperature = chosen(at == 1 ? kStepTemperatures[slot] : 0, kTemperatures[slot]);
  step.soft_cap = chosen(at == 1 ? kStepSoftCaps[slot] : 0, kSoftCaps[slot]);
  differential::call("sidbeam_session_step", sidbeam_session_step, session, &step);
}

// A NaN in slot 1's and an infinity in slot 2's; slot 0 never notices.
void step_with_bad_lse(const SettingsCase& c, sidbeam_session* session) {
  std::vector<float> lse(kSlots * 4, 9.0F);
  lse[4] = std::numeric_limits<float>::quiet_NaN();
  lse[8] = kInfinity;
  start_with_lists(c, session);
  step_with_lists(c, session, 0, lse.data());
  const sidbeam_beams beams = differential::beams_of(*c.machine.best().place, session);
  for (int32_t slot = 0; slot < kSlots; ++slot) {
    const int32_t expected = slot == 0 ? 0 : SIDBEAM_SLOT_BAD_LSE;
    differential::expect(beams.errors[slot] == expected, "errors[", slot, "] is ", beams.errors[slot], ", expected ",
                         expected);
  }
}

}  // namespace

std::vector<Snapshot> run_with_lists(const SettingsCase& c) {
  const Session session = make_session(c);
  std::vector<Snapshot> all;
  start_with_lists(c, session.get());
  for (int64_t at = 0; at < 2; ++at) {
    step_with_lists(c, session.get(), at, nullptr);
    keep_beams(c, session.get(), &all);
  }
  step_with_bad_lse(c, session.get());
  return all;
}

std::vector<Snapshot> run_alone(const SettingsCase& c) {
  const Session session = make_session(c);
  std::vector<Snapshot> all;
  for (int32_t slot = 0; slot < kSlots; ++slot) {
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.slots = &slot;
    start.count = 1;
    start.prefixes = first_code(c);
    start.prefix_lengths = &kPrefixLengths[slot];
    start.prefix_stride = 1;
    differential::call("sidbeam_session_start", sidbeam_session_start, session.get(), &start);
  }
  for (int64_t at = 0; at < 2; ++at) {
    for (int32_t slot = 0; slot < kSlots; ++slot) step_alone(c, session.get(), at, slot);
    keep_beams(c, session.get(), &all);
  }
  return all;
}

}  // namespace shared_cases
