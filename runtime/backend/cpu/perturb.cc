// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/perturb.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/draw.h"
#include "backend/cpu/group.h"
#include "backend/noise.h"

namespace sidbeam::cpu {
namespace {

// Normalises a row's children over themselves. With noise by integer weights: with sums of floats, whose order is
// another on a device, the last bits of scores differed there. Without noise as the search under VALID, whose bits are
// promised.
RowOutcome normalize_over(const Group& group, const RowChildren& children, RowScore& row) {
  RowWorkspace& workspace = group.lane.workspace;
  const Kernels& kernels = *group.plan.kernels;
  if (group.slot.sampling.noise_scale == 0.0F) {
    row.normalizer = log_of(sum_of(kernels, {workspace.x.data(), SIDBEAM_DTYPE_F32}, children.count));
    return use_computed(row);
  }
  WeighedChildren weighed;
  const RowOutcome outcome = weigh_children(group.plan, children, workspace, weighed);
  row.normalizer = weighed.log;
  row.clamp = true;
  return outcome;
}

// Lists a row's children, normalises them over themselves, and keeps what winners need of the row.
RowOutcome list_and_normalize(const Group& group, int32_t i, RowTask& task, int32_t& count) {
  RowWorkspace& workspace = group.lane.workspace;
  fill_task(group, i, task);
  NodeRow found;
  if (group.plan.strategy == SIDBEAM_STRATEGY_TRIE && has_row(group.plan, task.node))
    found = find_row(group.plan, task.node);
  task.found = &found;
  RowChildren listed;
  const RowOutcome outcome = list_children(group.plan, task, workspace, group.lane.counters, listed);
  if (outcome != RowOutcome::kReady) return outcome;
  count = listed.count;
  PerturbedRow& row = group.slot.stochastic.rows[group.first + i];
  row.score = task.row;
  row.log_mass = group.slot.log_masses[group.first + i];
  const bool over_valid = group.job.normalization == SIDBEAM_NORMALIZE_VALID;
  if (over_valid && group.job.lse != nullptr)
    return is_bad_value(task.row, listed.largest) ? RowOutcome::kBad : RowOutcome::kReady;
  const RowOutcome normalized = normalize_over(group, listed, row.score);
  if (normalized != RowOutcome::kReady || over_valid) return normalized;
  row.log_mass += log_mass_of(task.row, row.score.normalizer);
  return outcome_of_mass(row.log_mass);
}

void perturb_row(const Group& group, int32_t i) {
  const SlotStep& slot = group.slot;
  const StochasticBeams& beams = slot.stochastic;
  const int32_t m = group.first + i;
  if (is_ended(slot.states[m])) return group.selection().push(beams.perturbed[m], group.place(m, 0));
  Lane& lane = group.lane;
  RowTask task;
  int32_t count = 0;
  ++lane.counters.rows_read;
  const RowOutcome outcome = list_and_normalize(group, i, task, count);
  note_bad(group, beams.perturbed[m], outcome);
  if (outcome != RowOutcome::kReady) return;
  PerturbedRow& row = beams.rows[m];
  const NodeNoise node{slot.sampling.seed, beams.hashes[m], slot.level, beams.arrivals[m], slot.sampling.noise_scale};
  RowWorkspace& workspace = lane.workspace;
  row.earliest = group.plan.kernels->perturb(row.score, node, workspace.tokens.data(), count, workspace.x.data(),
                                             workspace.draw.exponentials.data());
  group.selection().append({0.0F, {}, false, group.place(m, 0)}, workspace.x.data(), workspace.tokens.data(), count);
}

// x of a code of a beam's row.
float x_of(const Group& group, int32_t m, uint32_t code) {
  const LevelColumns& columns = group.plan.columns;
  Elements elements = group.plan.elements;
  elements.data = group.data_at(group.row_of(m));
  const int64_t column = code == group.level().codes ? columns.end_column : columns.column(code);
  float x[1 + kVectorSlack] = {element_at(elements, column)};
  group.plan.kernels->transform(elements, x, 1);
  return x[0];
}

// A winner, whose noise is computed again: there are few of them.
StochasticBeam beam_after(const Group& group, const StochasticBeam& parent, int32_t m, uint32_t code) {
  const SlotStep& slot = group.slot;
  const PerturbedRow& row = slot.stochastic.rows[m];
  const float log_prob = log_prob_of(row.score, x_of(group, m, code));
  const float exponential = exponential_noise(slot.sampling.seed, parent.hash, code, slot.level);
  StochasticBeam beam;
  beam.score = row.score.score + log_prob;
  beam.log_mass = row.log_mass;
  beam.arrival = arrival_of(child_noise(exponential, log_prob), parent.arrival, row.earliest);
  beam.hash = hash_after(parent.hash, code);
  beam.state = state_after(group.job, slot, parent.state, code);
  return beam;
}

void write_beam(const SlotStep& slot, int32_t m, const StochasticBeam& beam) {
  slot.scores[m] = beam.score;
  slot.log_masses[m] = beam.log_mass;
  slot.stochastic.arrivals[m] = beam.arrival;
  slot.stochastic.hashes[m] = beam.hash;
  slot.states[m] = beam.state.state;
  if (slot.range_ends != nullptr) slot.range_ends[m] = beam.state.range_end;
}

StochasticBeam stochastic_beam_at(const SlotStep& slot, int32_t m) {
  return {slot.scores[m],
          slot.log_masses[m],
          slot.stochastic.arrivals[m],
          slot.stochastic.hashes[m],
          {slot.states[m], slot.range_ends != nullptr ? slot.range_ends[m] : 0}};
}

void clear_beam(const SlotStep& slot, int32_t m) {
  write_beam(slot, m, {});
  slot.stochastic.perturbed[m] = slot.stochastic.log_inclusions[m] = -kInfinity;
  slot.parents[m] = slot.tokens[m] = -1;
}

}  // namespace

void perturb_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane) {
  const SlotStep& slot = *piece.slot;
  const SlotPlan plan = plan_for(kernels, job, slot);
  const int32_t end = std::min(piece.end, *slot.live), together = rows_together(plan, lane.workspace.maxima_rows);
  piece.found->selection.reset(slot.width + 1);
  piece.best_bad = {};
  for (int32_t m = piece.begin; m < end; m += together) {
    const Group group{job, plan, slot, piece, lane, m, std::min(together, end - m), end};
    if (plan.sums_ahead()) sum_group(group);
    for (int32_t i = 0; i < group.n; ++i)
      if (is_live(slot.states[m + i])) perturb_row(group, i);
    piece.found->selection.flush();
  }
}

int32_t write_perturbed(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, Lane& lane) {
  const SlotPlan plan = plan_for(kernels, job, slot);
  Piece piece{&slot, 0, *slot.live, &found, {}};
  const Group group{job, plan, slot, piece, lane, 0, *slot.live, *slot.live};
  for (int32_t m = 0; m < *slot.live; ++m) lane.before[m] = stochastic_beam_at(slot, m);
  const Chosen chosen = found.selection.choose();
  const int32_t count = std::min(chosen.count, slot.width);
  if (chosen.count > count)
    *slot.stochastic.threshold = std::max(*slot.stochastic.threshold, chosen.scores[chosen.order[count]]);
  int32_t ended = 0;
  for (int32_t m = 0; m < count; ++m) {
    const uint32_t place = chosen.places[chosen.order[m]];
    const int32_t parent = beam_of(place, plan.number_bits);
    const uint32_t code = number_of(place, plan.number_bits);
    const StochasticBeam& before = lane.before[parent];
    const bool stays = is_ended(before.state.state);
    slot.parents[m] = parent;
    slot.tokens[m] = stays ? -1 : static_cast<int32_t>(code);
    slot.stochastic.perturbed[m] = chosen.scores[chosen.order[m]];
    write_beam(slot, m, stays ? before : beam_after(group, before, parent, code));
    slot.stochastic.log_inclusions[m] = log_inclusion_of(slot.scores[m], *slot.stochastic.threshold);
    ended += is_ended(slot.states[m]) ? 1 : 0;
  }
  for (int32_t m = count; m < job.beams; ++m) clear_beam(slot, m);
  std::copy_n(slot.parents, job.beams, slot.history_parents + int64_t{slot.level} * job.beams);
  std::copy_n(slot.tokens, job.beams, slot.history_tokens + int64_t{slot.level} * job.beams);
  *slot.live = count;
  *slot.active = active_after(*slot.index, slot.level, count, ended);
  return count;
}

}  // namespace sidbeam::cpu
