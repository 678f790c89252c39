// A step of a session on the CPU: check what depends on the slots, then compute.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/session.h"
#include "backend/settings.h"
#include "index/read/state.h"
#include "support/error.h"

namespace sidbeam::cpu {

RowSettings CpuSession::settings_for(const sidbeam_step_args& args, int32_t slot, int64_t batch) const {
  RowSettings own{args.inverse_temperature, args.soft_cap};
  if (args.inverse_temperatures != nullptr) {
    own.inverse_temperature = args.inverse_temperatures[batch];
    check_inverse_temperature({"inverse_temperatures", batch, own.inverse_temperature});
  }
  if (args.soft_caps != nullptr) {
    own.soft_cap = args.soft_caps[batch];
    check_soft_cap({"soft_caps", batch, own.soft_cap});
  }
  return first_given(own, settings_[slot]);
}

// Beams that may have to be fed: the live ones come first, except where they are draws, which keep their rows.
int32_t CpuSession::rows_of(int32_t slot) const {
  return shape_.mode == SIDBEAM_MODE_SAMPLE && !sampled_.fresh[slot] ? widths_of(slot)[0] : live_[slot];
}

// Checks that every beam that must be fed has a row.
void CpuSession::check_rows_of_beams(const sidbeam_step_args& args, int32_t slot, int64_t batch) const {
  const int64_t first = int64_t{slot} * shape_.beams;
  int32_t beams = rows_of(slot);
  while (beams > 0 && !is_live(states_[first + beams - 1])) --beams;
  if (args.row_map == nullptr && args.rows->rows >= beams) return;
  for (int32_t m = 0; m < beams; ++m) {
    if (!is_live(states_[first + m]) || is_ended(states_[first + m])) continue;
    if (args.row_map == nullptr) {
      if (m >= args.rows->rows)
        fail(SIDBEAM_INVALID_ARGUMENT, "rows.rows is %lld, expected at least %d, the live beams of slot %d",
             static_cast<long long>(args.rows->rows), beams, slot);
      continue;
    }
    const int32_t row = args.row_map[batch * shape_.beams + m];
    if (row < 0 || row >= args.rows->rows)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "row_map[%lld][%d] is %d, expected 0..%lld, since that beam of slot %d must be fed",
           static_cast<long long>(batch), m, row, static_cast<long long>(args.rows->rows - 1), slot);
  }
}

void CpuSession::check_columns(const IndexView& index, const sidbeam_rows& rows, int32_t slot) const {
  const int32_t level = level_[slot];
  const int64_t needed = shape_.vocabulary.columns[level].needed(index.level[level].codes, index.variable_length);
  if (rows.columns < needed)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.columns is %lld, expected at least %lld for the codes of level %d (slot %d)",
         static_cast<long long>(rows.columns), static_cast<long long>(needed), level, slot);
  if (draws() && !can_truncate(sampled_.slots[slot].truncation, rows.columns))
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.columns is %lld, expected at most %lld with top-k or top-p (slot %d)",
         static_cast<long long>(rows.columns), static_cast<long long>(kMostTruncated), slot);
  if (draws() && !can_truncate(sampled_.slots[slot].truncation, symbols_at(index, level)))
    fail(SIDBEAM_INVALID_ARGUMENT, "level %d has %u codes, expected at most %lld with top-k or top-p (slot %d)", level,
         symbols_at(index, level), static_cast<long long>(kMostTruncated), slot);
}

// Filled in place: copying fields that were just stored one by one would wait for the stores.
void CpuSession::set_step(const Constraint& constraint, int32_t slot, int64_t batch, SlotStep& step) {
  const int64_t first = int64_t{slot} * shape_.beams, history = history_at(slot);
  step.index = &constraint.view();
  step.rules = constraint.rules();
  step.level = level_[slot];
  step.width = widths_of(slot)[level_[slot]];
  step.slot = slot;
  step.batch = batch;
  step.states = states_.data() + first;
  step.range_ends = range_ends_.size() > 0 ? range_ends_.data() + first : nullptr;
  step.scores = scores_.data() + first;
  step.parents = parents_.data() + first;
  step.tokens = tokens_.data() + first;
  step.history_parents = history_parents_.data() + history;
  step.history_tokens = history_tokens_.data() + history;
  step.live = &live_[slot];
  step.active = &active_[slot];
  step.error = &errors_[slot];
  if (!draws()) return;
  step.sampling = sampled_.slots[slot];
  step.fresh = sampled_.fresh[slot];
  step.log_masses = sampled_.log_masses.data() + first;
  if (stochastic()) step.stochastic = stochastic_.of(slot, shape_.beams);
}

// Adds a slot to the current step, unless a NULL list skips it. Returns the number of slots so far.
int64_t CpuSession::add_slot(const sidbeam_step_args& args, int64_t batch, int64_t added) {
  const int32_t slot = named_.take(args.slots, batch);
  const bool idle = level_[slot] < 0, done = active_[slot] == 0;
  if (args.slots == nullptr && (idle || done)) return added;
  if (idle) fail(SIDBEAM_BAD_STATE, "slots[%lld] is %d, which is not started", static_cast<long long>(batch), slot);
  if (done)
    fail(SIDBEAM_BAD_STATE, "slots[%lld] is %d, which is done: start it again", static_cast<long long>(batch), slot);
  if (args.child_offsets == nullptr) {
    check_columns(constraints_[slot]->view(), *args.rows, slot);
    check_rows_of_beams(args, slot, batch);
  }
  set_step(*constraints_[slot], slot, batch, steps_[added]);
  steps_[added].settings = settings_for(args, slot, batch);
  return added + 1;
}

// Throws because there is no slot to step; otherwise a caller's loop would never notice that nothing happens.
void CpuSession::refuse_idle() const {
  for (int64_t slot = 0; slot < shape_.slots; ++slot)
    if (level_[slot] >= 0)
      fail(SIDBEAM_BAD_STATE, "every slot that was started is done, expected one to step: start it again");
  fail(SIDBEAM_BAD_STATE, "no slot is started, expected one to step: start it first");
}

void CpuSession::step(const sidbeam_step_args& args) {
  named_.begin();
  StepJob job;
  for (int64_t batch = 0; batch < args.count; ++batch) job.slot_count = add_slot(args, batch, job.slot_count);
  if (job.slot_count == 0) refuse_idle();
  job.slots = steps_.data();
  job.beams = shape_.beams;
  job.strategy = shape_.strategy;
  job.top_k = shape_.top_k;
  job.mode = shape_.mode;
  const bool computed = args.lse == nullptr && shape_.normalization != SIDBEAM_NORMALIZE_NONE;
  job.may_skip = !draws() && (computed || shape_.log_probs_promised);
  job.normalization = shape_.normalization;
  job.columns = shape_.vocabulary.columns;
  job.rows = args.rows;
  job.row_map = args.row_map;
  job.child_offsets = args.child_offsets;
  job.lse = args.lse;
  stepper_.step(job, counters_);
  for (int64_t i = 0; i < job.slot_count; ++i) ++level_[steps_[i].slot];
  for (int64_t i = 0; draws() && i < job.slot_count; ++i) sampled_.fresh[steps_[i].slot] = false;
  ++counters_.steps;
}

}  // namespace sidbeam::cpu
