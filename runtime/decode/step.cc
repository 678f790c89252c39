// One step: check every argument against every slot, then let the backend compute.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "decode/rows.h"
#include "decode/session.h"
#include "index/state.h"
#include "support/error.h"

namespace sidbeam {
namespace {

void check_scalars(const sidbeam_session& session, const sidbeam_step_args& args) {
  if (!(std::isfinite(args.inverse_temperature) && args.inverse_temperature >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperature is %g, expected a finite number above 0, or 0 for 1",
         static_cast<double>(args.inverse_temperature));
  if (!(std::isfinite(args.soft_cap) && args.soft_cap >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "soft_cap is %g, expected a finite number above 0, or 0 for none",
         static_cast<double>(args.soft_cap));
  if (args.lse != nullptr && session.normalization == SIDBEAM_NORMALIZE_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "lse is given, expected NULL with NORMALIZE_NONE, whose rows are log-probabilities already");
  if (args.slots == nullptr && args.count != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 where slots is NULL", static_cast<long long>(args.count));
  if (args.slots != nullptr) check_slot_count(session, args.count);
}

void check_shape(const sidbeam_session& session, const sidbeam_step_args& args) {
  const sidbeam_rows& rows = *args.rows;
  const int64_t count = args.slots != nullptr ? args.count : session.slots;
  if (args.row_map == nullptr && rows.slots != count)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected %lld, the slots of the call (or 0 and a row_map)",
         static_cast<long long>(rows.slots), static_cast<long long>(count));
  if (args.row_map != nullptr && rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected 0 with a row_map", static_cast<long long>(rows.slots));
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

void step_session(sidbeam_session& session, const sidbeam_step_args& args, sidbeam_rows& rows) {
  if (session.device != nullptr) {
    check_rows(rows, "rows", SIDBEAM_CUDA, session.device->id());
  } else {
    check_rows(rows, "rows");
  }
  check_scalars(session, args);
  check_shape(session, args);
  if (args.slots != nullptr && args.count == 0) refuse_idle(session, args);
  if (session.device != nullptr) return step_on_device(session, args);
  ++session.calls;
  StepJob job;
  const int64_t count = args.slots != nullptr ? args.count : session.slots;
  for (int64_t batch = 0; batch < count; ++batch) job.slot_count = add_slot(session, args, batch, job.slot_count);
  if (job.slot_count == 0) refuse_idle(session, args);
  job.slots = session.steps.data();
  job.beams = session.beams;
  job.strategy = session.strategy;
  job.top_k = session.top_k;
  const bool computed = args.lse == nullptr && session.normalization != SIDBEAM_NORMALIZE_NONE;
  job.may_skip = computed || session.log_probs_promised;
  job.rule = {session.normalization, args.inverse_temperature == 0.0F ? 1.0F : args.inverse_temperature, args.soft_cap};
  job.columns = session.vocabulary.columns;
  job.rows = args.rows;
  job.row_map = args.row_map;
  job.lse = args.lse;
  session.stepper->step(job, session.stats);
  for (int64_t i = 0; i < job.slot_count; ++i) ++session.level[session.steps[i].slot];
  ++session.stats.steps;
}

}  // namespace sidbeam
