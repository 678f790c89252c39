// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index/state.h"
#include "support/float_mode.h"

namespace sidbeam::cpu {
namespace {

// Codes [0, slot.level) of a beam, walking its parents back.
void beam_codes(const SlotStep& slot, int32_t beams, int32_t beam, int32_t* codes) {
  for (int32_t level = slot.level - 1; level >= 0; --level) {
    codes[level] = slot.history_tokens[int64_t{level} * beams + beam];
    beam = slot.history_parents[int64_t{level} * beams + beam];
  }
}

}  // namespace

void CpuStepper::reserve(const StepLimits& wanted) {
  StepLimits limits = wanted;
  limits.codes = std::max(limits.codes, limits_.codes);
  limits.levels = std::max(limits.levels, limits_.levels);
  if (limits_.beams == limits.beams && limits_.codes == limits.codes && limits_.levels == limits.levels) return;
  // All is taken before anything is given back: a failure leaves the old sizes usable.
  Selection selection(allocator_, limits.beams);
  RowWorkspace workspace(allocator_, limits);
  Buffer<int64_t> states(allocator_, limits.beams);
  Buffer<uint64_t> range_ends(allocator_, limits.beams);
  Buffer<int32_t> prefix(allocator_, limits.levels);
  selection_ = std::move(selection);
  workspace_ = std::move(workspace);
  states_ = std::move(states);
  range_ends_ = std::move(range_ends);
  prefix_ = std::move(prefix);
  limits_ = limits;
}

int64_t CpuStepper::memory_bytes() const {
  return selection_.memory_bytes() + workspace_.memory_bytes() + states_.bytes() + range_ends_.bytes() +
         prefix_.bytes();
}

void CpuStepper::step(const StepJob& job, sidbeam_stats& stats) {
  const DefaultFloatMode mode;
  for (int64_t i = 0; i < job.slot_count; ++i) step_slot(job, job.slots[i], stats);
}

RowTask CpuStepper::task_for(const StepJob& job, const SlotStep& slot, int32_t beam) {
  const sidbeam_rows& rows = *job.rows;
  const int64_t row = job.row_map != nullptr ? job.row_map[slot.batch * job.beams + beam] : beam;
  const int64_t offset = (job.row_map != nullptr ? 0 : slot.batch * rows.slot_stride) + row * rows.row_stride;
  RowTask task;
  task.index = slot.index;
  task.level = slot.level;
  task.node = state_node(slot.states[beam]);
  task.range_end = uses_columns(job.strategy) ? slot.range_ends[beam] : 0;
  task.columns = job.columns[slot.level];
  task.column_count = rows.columns;
  task.elements = {static_cast<const char*>(rows.data) + offset * element_bytes(rows.dtype), rows.dtype,
                   job.rule.inverse_temperature, job.rule.soft_cap};
  if (job.lse != nullptr) task.lse = job.lse + (job.row_map != nullptr ? row : slot.batch * rows.rows + row);
  task.strategy = job.strategy;
  task.normalization = job.rule.normalization;
  task.top_k = job.top_k;
  task.row.score = slot.scores[beam];
  task.row.place_base = place_of(beam, 0);
  if (job.strategy == SIDBEAM_STRATEGY_HASH_FINAL && slot.level == slot.index->levels - 1) {
    beam_codes(slot, job.beams, beam, prefix_.data());
    task.prefix = prefix_.data();
  }
  return task;
}

float CpuStepper::scan_beams(const StepJob& job, const SlotStep& slot, sidbeam_stats& stats) {
  float best_bad = std::numeric_limits<float>::quiet_NaN();
  for (int32_t m = 0; m < *slot.live; ++m) {
    if (!is_live(slot.states[m])) continue;
    if (is_ended(slot.states[m])) {
      selection_.push(slot.scores[m], place_of(m, 0));
      continue;
    }
    // Scores fall with m and log-probs never rise above 0: neither this row nor a bad one could be seen in the result.
    if (job.may_skip && slot.scores[m] < selection_.threshold()) {
      ++stats.rows_skipped;
      continue;
    }
    RowTask task = task_for(job, slot, m);
    ++stats.rows_read;
    if (scan_row(kernels_, task, workspace_, selection_, stats)) continue;
    ++stats.rows_bad;
    if (!(best_bad >= slot.scores[m])) best_bad = slot.scores[m];
  }
  return best_bad;
}

void CpuStepper::step_slot(const StepJob& job, const SlotStep& slot, sidbeam_stats& stats) {
  selection_.reset(slot.width);
  const int64_t shrinks = selection_.shrinks();
  const float best_bad = scan_beams(job, slot, stats);
  const int32_t count = selection_.finish();
  stats.shrinks += selection_.shrinks() - shrinks;
  stats.dead_beams += slot.width - count;
  ++stats.slot_steps;
  if (!std::isnan(best_bad) && (count < slot.width || best_bad >= selection_.scores()[count - 1]))
    *slot.error = SIDBEAM_SLOT_BAD_ROW;
  write_beams(job, slot, count);
}

void CpuStepper::write_beams(const StepJob& job, const SlotStep& slot, int32_t count) {
  int32_t active = 0;
  for (int32_t m = 0; m < count; ++m) {
    const uint32_t place = selection_.places()[m];
    continue_beam(job, slot, m, beam_of(place), token_of(place));
    active += is_ended(states_[m]) ? 0 : 1;
  }
  for (int32_t m = count; m < job.beams; ++m) {
    states_[m] = kDeadState;
    slot.parents[m] = slot.tokens[m] = -1;
    slot.scores[m] = -std::numeric_limits<float>::infinity();
  }
  std::copy(selection_.scores(), selection_.scores() + count, slot.scores);
  std::copy(states_.data(), states_.data() + job.beams, slot.states);
  if (uses_columns(job.strategy)) std::copy(range_ends_.data(), range_ends_.data() + count, slot.range_ends);
  *slot.live = count;
  *slot.active = slot.level + 1 == slot.index->levels ? 0 : active;
}

// The state of the beam that continues `parent` by `token`. On a damaged index a token may turn out to lead nowhere:
// that beam is dead to the next step.
void CpuStepper::continue_beam(const StepJob& job, const SlotStep& slot, int32_t m, int32_t parent, uint32_t token) {
  slot.parents[m] = parent;
  const int64_t before = slot.states[parent];
  if (is_ended(before)) {
    slot.tokens[m] = -1;
    states_[m] = before;
    range_ends_[m] = slot.range_ends != nullptr ? slot.range_ends[parent] : 0;
    return;
  }
  slot.tokens[m] = static_cast<int32_t>(token);
  const LevelView& level = slot.index->level[slot.level];
  State state{slot.level + 1, slot.index->variable_length && token == level.codes, NodeKind::kOpaque, 0};
  if (job.strategy == SIDBEAM_STRATEGY_TRIE) {
    states_[m] = next_state(*slot.index, before, token);
    return;
  }
  if (uses_columns(job.strategy)) {
    const OrdinalRange found =
        column_range(*slot.index, slot.level, {state_node(before), slot.range_ends[parent]}, token);
    state.kind = NodeKind::kSorted;
    state.node = found.lo;
    range_ends_[m] = found.hi;
  }
  states_[m] = encode_state(state);
}

}  // namespace sidbeam::cpu
