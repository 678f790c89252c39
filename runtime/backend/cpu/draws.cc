// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/chain.h"
#include "backend/cpu/draw.h"
#include "backend/cpu/group.h"

namespace sidbeam::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A beam before and after a step.
struct DrawnBeam {
  BeamState state;
  float score = -kInfinity, log_mass = -kInfinity;
  int32_t parent = -1, code = -1;
};

DrawnBeam beam_at(const SlotStep& slot, int32_t m) {
  return {
      {slot.states[m], slot.range_ends != nullptr ? slot.range_ends[m] : 0}, slot.scores[m], slot.log_masses[m], m, -1};
}

void write_beam(const StepJob& job, const SlotStep& slot, int32_t m, const DrawnBeam& beam) {
  slot.states[m] = beam.state.state;
  if (slot.range_ends != nullptr) slot.range_ends[m] = beam.state.range_end;
  slot.scores[m] = beam.score;
  slot.log_masses[m] = beam.log_mass;
  slot.parents[m] = beam.parent;
  slot.tokens[m] = beam.code;
  const int64_t history = int64_t{slot.level} * job.beams + m;
  slot.history_parents[history] = beam.parent;
  slot.history_tokens[history] = beam.code;
}

BeamState state_after_draw(const Group& group, const ListedRow& row, const BeamState& before, const Drawn& drawn) {
  if (row.children.first_edge == kNoEdge) return state_after(group.job, group.slot, before, drawn.code);
  const uint64_t edge = row.children.first_edge + static_cast<uint64_t>(drawn.child);
  return {encode_state({group.plan.level + 1, drawn.code == group.level().codes, NodeKind::kTrie, edge}), 0};
}

bool is_finite(const DrawnBeam& beam) {
  return std::fabs(beam.score) < kInfinity && std::fabs(beam.log_mass) < kInfinity;
}

// The beam of a draw among the children of its parent's row. `bad` if its score exceeds the range of f32.
DrawnBeam draw_one(const Group& group, const ListedRow& row, const DrawnBeam& parent, uint64_t bits, bool& bad) {
  const Drawn drawn = draw_code(group.plan, row, group.lane.workspace, bits);
  DrawnBeam beam = parent;
  beam.score += drawn.log_prob;
  beam.log_mass += drawn.log_mass;
  bad = bad || beam.score == kInfinity || beam.log_mass == kInfinity;
  if (!is_finite(beam)) return {};
  beam.state = state_after_draw(group, row, parent.state, drawn);
  beam.code = static_cast<int32_t>(drawn.code);
  return is_live(beam.state.state) ? beam : DrawnBeam{};
}

// The draws [begin, end) from the row of beam first + i; `bits` are theirs, `copied` as in find_children().
void draw_row(const Group& group, int32_t i, int32_t begin, int32_t end, const uint64_t* bits, void* copied = nullptr) {
  const SlotStep& slot = group.slot;
  Lane& lane = group.lane;
  const DrawnBeam parent = beam_at(slot, group.first + i);
  if (!is_live(parent.state.state) || is_ended(parent.state.state)) {
    const DrawnBeam stays = is_live(parent.state.state) ? parent : DrawnBeam{};
    for (int32_t m = begin; m < end; ++m) write_beam(group.job, slot, m, stays);
    return;
  }
  RowTask task;
  fill_task(group, i, task);
  task.found = &lane.found.rows[i];
  ++lane.counters.rows_read;
  ListedRow row;
  RowOutcome outcome = list_row(group.plan, task, lane.workspace, lane.counters, row, copied);
  bool bad = false;
  for (int32_t m = begin; m < end; ++m) {
    const bool ready = outcome == RowOutcome::kReady;
    write_beam(group.job, slot, m, ready ? draw_one(group, row, parent, bits[m - begin], bad) : DrawnBeam{});
  }
  note_bad(group, 0.0F, bad ? RowOutcome::kBad : outcome);
}

void fill_bits(const Group& group, int32_t begin, int32_t n, uint64_t* bits) {
  const SlotSampling& sampling = group.slot.sampling;
  group.plan.kernels->random_bits(sampling.seed, sampling.request, sampling.draws + begin, group.plan.level, n, bits);
}

// A slot that has just started: one row for all draws.
void draw_fresh(const Group& group) {
  const SlotStep& slot = group.slot;
  uint64_t bits[kMostTogether];
  if (group.plan.sums_ahead()) sum_group(group);
  if (group.plan.strategy == SIDBEAM_STRATEGY_TRIE && !group.plan.in_tail())
    group.lane.found.rows[0] = node_row(group.level(), node_to_feed(slot.states[0]));
  // Beam 0, whose row this is, is written last.
  for (int32_t begin = (slot.width - 1) / kMostTogether * kMostTogether; begin >= 0; begin -= kMostTogether) {
    const int32_t end = std::min(begin + kMostTogether, slot.width);
    fill_bits(group, begin, end - begin, bits);
    draw_row(group, 0, begin, end, bits);
  }
}

// The draw of beam first + i, whose node has one child: there is nothing to choose, and no list to make. False, and
// nothing is done, if a number is not finite.
template <class Element>
bool take_only_child(const Group& group, const ChildRows& rows, int32_t i, uint32_t code, int64_t next) {
  const int64_t number = rows.row(i);
  const float x = float_of(static_cast<const Element*>(rows.data)[number * rows.stride + code]);
  RowScore row;
  row.clamp = rows.sums != nullptr;
  row.normalizer = row.clamp ? rows.sums[i] : LogSum{rows.lse != nullptr ? rows.lse[number] : 0.0F, 0.0F};
  const float log_prob = log_prob_of(row, x);
  DrawnBeam beam = beam_at(group.slot, group.first + i);
  beam.score += log_prob;
  beam.log_mass += log_prob;
  if (!(x < kInfinity && std::fabs(row.normalizer.ref) < kInfinity && is_finite(beam))) return false;
  beam.state = {next, 0};
  beam.code = static_cast<int32_t>(code);
  write_beam(group.job, group.slot, group.first + i, beam);
  ++group.lane.counters.rows_read;
  ++group.lane.counters.single_rows;
  ++group.lane.counters.candidates;
  return true;
}

bool take_only_child(const Group& group, const ChildRows& rows, int32_t i, uint32_t code, int64_t next, int32_t dtype) {
  if (dtype == SIDBEAM_DTYPE_F32) return take_only_child<float>(group, rows, i, code, next);
  if (dtype == SIDBEAM_DTYPE_F16) return take_only_child<F16>(group, rows, i, code, next);
  return take_only_child<Bf16>(group, rows, i, code, next);
}

// Whether the elements of children are copied while rows are summed: where all nodes are dense.
bool copies_children(const SlotPlan& plan) {
  return plan.path == Path::kNodes && plan.sums_ahead() && plan.columns.map == nullptr;
}

// Sums the rows of a group whose nodes are found, and copies the elements of their children as far as there is room.
// Those of all codes are in place.
void sum_and_copy(const Group& group) {
  DrawWorkspace& draw = group.lane.workspace.draw;
  int64_t at = 0;
  for (int32_t i = 0; i < group.n; ++i) {
    const TokenList list = list_of_node(group.plan, group.lane.found.rows[i]);
    draw.copies[i] = {};
    if (at + list.count >= draw.copied.size() || list.count == static_cast<int32_t>(group.level().codes)) continue;
    draw.copies[i] = {list, draw.copied.data() + at, false};
    at += (list.count + kVectorSlack) / kVectorSlack * kVectorSlack;  // rows begin on a cache line
  }
  sum_group(group, draw.copies.data());
}

// Draws of a slot at a level of dense nodes, each from its own row.
void draw_nodes(const Group& group) {
  const int64_t* states = group.slot.states + group.first;
  uint32_t only[kMostTogether];
  uint64_t bits[kMostTogether];
  std::fill_n(only, group.n, kNotOne);
  fill_bits(group, group.first, group.n, bits);
  group.plan.kernels->find_rows(group.level(), states, group.n, only, group.lane.found.rows.data());
  sum_and_copy(group);
  for (int32_t i = 0; i < group.n; ++i) {
    const RowCopy& copy = group.lane.workspace.draw.copies[i];
    draw_row(group, i, group.first + i, group.first + i + 1, bits + i, copy.done ? copy.out : nullptr);
  }
  fetch_next(*group.plan.index, group.plan.level, states, group.n);
}

// Draws of a slot that has been stepped before, each from its own row. Codes are prefetched while rows are summed, as
// in scan.cc.
void draw_group(const Group& group) {
  const SlotPlan& plan = group.plan;
  const int32_t n = group.n;
  const int64_t* states = group.slot.states + group.first;
  const bool of_nodes = plan.strategy == SIDBEAM_STRATEGY_TRIE && !plan.in_tail();
  const bool chains = plan.path == Path::kChains && !plan.truncation.any();
  uint32_t only[kMostTogether];
  int64_t next[kMostTogether];
  uint64_t bits[kMostTogether];
  std::fill_n(only, kMostTogether, kNotOne);
  if (chains) fetch_children(*plan.index, plan.level, states, n);
  if (plan.sums_ahead()) sum_group(group);
  if (chains) find_only_children(*plan.index, plan.level, {states, n, only, next});
  if (std::find(only, only + n, kNotOne) != only + n) {
    fill_bits(group, group.first, n, bits);
    if (of_nodes) plan.kernels->find_rows(group.level(), states, n, only, group.lane.found.rows.data());
  }
  const ChildRows rows =
      child_rows(group.job, plan, group.slot, group.first, plan.sums_ahead() ? group.lane.logs : nullptr);
  for (int32_t i = 0; i < n; ++i) {
    if (only[i] != kNotOne) {
      if (take_only_child(group, rows, i, only[i], next[i], group.job.rows->dtype)) continue;
      bits[i] = 0;
      if (of_nodes) group.lane.found.rows[i] = node_row(group.level(), state_node(states[i]));
    }
    draw_row(group, i, group.first + i, group.first + i + 1, bits + i);
  }
  if (plan.strategy == SIDBEAM_STRATEGY_TRIE) fetch_next(*plan.index, plan.level, states, n);
}

}  // namespace

void draw_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane) {
  const SlotStep& slot = *piece.slot;
  SlotPlan plan = plan_for(kernels, job, slot);
  plan.keeps_maxima = false;  // nothing is skipped
  const int32_t end = std::min(piece.end, rows_of_draws(slot));
  const int32_t together = rows_together(plan, lane.workspace.maxima_rows);
  piece.best_bad = {};
  for (int32_t m = piece.begin; m < end; m += together) {
    const Group group{job, plan, slot, piece, lane, m, std::min(together, end - m), end};
    if (slot.fresh) {
      draw_fresh(group);
    } else if (copies_children(plan)) {
      draw_nodes(group);
    } else {
      draw_group(group);
    }
  }
}

int32_t finish_draws(const StepJob& job, const SlotStep& slot) {
  int32_t live = 0, ended = 0;
  for (int32_t m = 0; m < slot.width; ++m) {
    live += is_live(slot.states[m]) ? 1 : 0;
    ended += is_ended(slot.states[m]) ? 1 : 0;
  }
  for (int32_t m = slot.width; m < job.beams; ++m) write_beam(job, slot, m, DrawnBeam{});
  *slot.live = live;
  *slot.active = active_after(*slot.index, slot.level, live, ended);
  return live;
}

}  // namespace sidbeam::cpu
