// One step: check every argument against every slot, then let the backend compute.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "decode/rows.h"
#include "decode/session.h"
#include "index/read/state.h"
#include "support/error.h"

namespace sidbeam {
namespace {

void check_scalars(const sidbeam_session& session, const sidbeam_step_args& args) {
  check_inverse_temperature({"inverse_temperature", -1, args.inverse_temperature});
  check_soft_cap({"soft_cap", -1, args.soft_cap});
  if (args.inverse_temperatures != nullptr && args.inverse_temperature != 0.0F)
    fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperature is %g, expected 0 beside inverse_temperatures",
         static_cast<double>(args.inverse_temperature));
  if (args.soft_caps != nullptr && args.soft_cap != 0.0F)
    fail(SIDBEAM_INVALID_ARGUMENT, "soft_cap is %g, expected 0 beside soft_caps", static_cast<double>(args.soft_cap));
  if (args.lse != nullptr && session.normalization == SIDBEAM_NORMALIZE_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "lse is given, expected NULL with NORMALIZE_NONE, whose rows are log-probabilities already");
}

void check_shape(const sidbeam_step_args& args) {
  const sidbeam_rows& rows = *args.rows;
  if (args.row_map == nullptr && rows.slots != args.count)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected %lld, the slots of the call (or 0 and a row_map)",
         static_cast<long long>(rows.slots), static_cast<long long>(args.count));
  if (args.row_map != nullptr && rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected 0 with a row_map", static_cast<long long>(rows.slots));
}

// The step's own value, else the slot's, else the one that changes nothing.
float first_given(float of_step, float of_slot, float neutral) {
  return of_step != 0.0F ? of_step : of_slot != 0.0F ? of_slot : neutral;
}

void set_temperature(const sidbeam_session& session, const sidbeam_step_args& args, int32_t slot, int64_t batch,
                     SlotStep& step) {
  float temperature = args.inverse_temperature, soft_cap = args.soft_cap;
  if (args.inverse_temperatures != nullptr) {
    temperature = args.inverse_temperatures[batch];
    check_inverse_temperature({"inverse_temperatures", batch, temperature});
  }
  if (args.soft_caps != nullptr) {
    soft_cap = args.soft_caps[batch];
    check_soft_cap({"soft_caps", batch, soft_cap});
  }
  step.inverse_temperature = first_given(temperature, session.inverse_temperatures[slot], 1.0F);
  step.soft_cap = first_given(soft_cap, session.soft_caps[slot], 0.0F);
  if (std::isinf(step.soft_cap)) step.soft_cap = 0.0F;
}

// Every beam that must be fed has a row.
void check_beams(const sidbeam_session& session, const sidbeam_step_args& args, int32_t slot, int64_t batch) {
  const int64_t first = int64_t{slot} * session.beams;
  if (args.row_map == nullptr && args.rows->rows >= session.live[slot]) return;
  for (int32_t m = 0; m < session.live[slot]; ++m) {
    if (!is_live(session.states[first + m]) || is_ended(session.states[first + m])) continue;
    if (args.row_map == nullptr) {
      if (m >= args.rows->rows)
        fail(SIDBEAM_INVALID_ARGUMENT, "rows.rows is %lld, expected at least %d, the live beams of slot %d",
             static_cast<long long>(args.rows->rows), session.live[slot], slot);
      continue;
    }
    const int32_t row = args.row_map[batch * session.beams + m];
    if (row < 0 || row >= args.rows->rows)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "row_map[%lld][%d] is %d, expected 0..%lld, since that beam of slot %d must be fed",
           static_cast<long long>(batch), m, row, static_cast<long long>(args.rows->rows - 1), slot);
  }
}

void check_columns(const sidbeam_session& session, const IndexView& index, const sidbeam_rows& rows, int32_t slot) {
  const int64_t needed = columns_needed(session.vocabulary, index, session.level[slot]);
  if (rows.columns < needed)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.columns is %lld, expected at least %lld for the codes of level %d (slot %d)",
         static_cast<long long>(rows.columns), static_cast<long long>(needed), session.level[slot], slot);
}

// In place: fields that are stored one by one and copied at once are waited for.
void set_step(sidbeam_session& session, const IndexView& index, int32_t slot, int64_t batch, SlotStep& step) {
  const int64_t first = int64_t{slot} * session.beams, history = first * session.levels;
  step.index = &index;
  step.level = session.level[slot];
  step.width = session.widths[slot];
  step.slot = slot;
  step.batch = batch;
  step.states = session.states.data() + first;
  step.range_ends = session.range_ends.size() > 0 ? session.range_ends.data() + first : nullptr;
  step.scores = session.scores.data() + first;
  step.parents = session.parents.data() + first;
  step.tokens = session.tokens.data() + first;
  step.history_parents = session.history_parents.data() + history;
  step.history_tokens = session.history_tokens.data() + history;
  step.live = &session.live[slot];
  step.active = &session.active[slot];
  step.error = &session.errors[slot];
}

// Adds a slot to the step that is under way; slots that a NULL list passes over are left out.
int64_t add_slot(sidbeam_session& session, const sidbeam_step_args& args, int64_t batch, int64_t added) {
  const int32_t slot = named_slot(session, args.slots, batch);
  const bool idle = session.level[slot] < 0, done = session.active[slot] == 0;
  if (args.slots == nullptr && (idle || done)) return added;
  if (idle) fail(SIDBEAM_BAD_STATE, "slots[%lld] is %d, which is not started", static_cast<long long>(batch), slot);
  if (done)
    fail(SIDBEAM_BAD_STATE, "slots[%lld] is %d, which is done: start it again", static_cast<long long>(batch), slot);
  const IndexView& index = session.slot_constraints[slot]->view();
  check_columns(session, index, *args.rows, slot);
  check_beams(session, args, slot, batch);
  set_step(session, index, slot, batch, session.steps[added]);
  set_temperature(session, args, slot, batch, session.steps[added]);
  return added + 1;
}

// A search that goes on by itself would never notice that it does nothing.
[[noreturn]] void refuse_idle(const sidbeam_session& session, const sidbeam_step_args& args) {
  if (args.slots != nullptr) fail(SIDBEAM_BAD_STATE, "count is 0, expected at least one slot to step");
  for (int64_t slot = 0; slot < session.slots; ++slot)
    if (session.level[slot] >= 0)
      fail(SIDBEAM_BAD_STATE, "every slot that was started is done, expected one to step: start it again");
  fail(SIDBEAM_BAD_STATE, "no slot is started, expected one to step: start it first");
}

}  // namespace

void step_session(sidbeam_session& session, const sidbeam_step_args& given, sidbeam_rows& rows) {
  if (session.device != nullptr) {
    check_rows(rows, "rows", SIDBEAM_DEVICE_CUDA, session.device->id());
  } else {
    check_rows(rows, "rows", SIDBEAM_DEVICE_CPU, 0);
  }
  sidbeam_step_args args = given;
  args.count = listed_slots(session, args.slots, args.count);
  check_scalars(session, args);
  check_shape(args);
  if (args.slots != nullptr && args.count == 0) refuse_idle(session, args);
  if (session.device != nullptr) return step_on_device(session, args);
  ++session.calls;
  StepJob job;
  for (int64_t batch = 0; batch < args.count; ++batch) job.slot_count = add_slot(session, args, batch, job.slot_count);
  if (job.slot_count == 0) refuse_idle(session, args);
  job.slots = session.steps.data();
  job.beams = session.beams;
  job.strategy = session.strategy;
  job.top_k = session.top_k;
  const bool computed = args.lse == nullptr && session.normalization != SIDBEAM_NORMALIZE_NONE;
  job.may_skip = computed || session.log_probs_promised;
  job.normalization = session.normalization;
  job.columns = session.vocabulary.columns;
  job.rows = &rows;
  job.row_map = args.row_map;
  job.lse = args.lse;
  session.stepper->step(job, session.counters);
  for (int64_t i = 0; i < job.slot_count; ++i) ++session.level[session.steps[i].slot];
  ++session.counters.steps;
}

}  // namespace sidbeam
