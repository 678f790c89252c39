// Neighbouring beams of a slot, whose rows are summed together before they are scanned one by one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "backend/beams.h"
#include "backend/cpu/lane.h"
#include "backend/cpu/only_children.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/sum_ahead.h"
#include "index/read/state.h"

namespace sidbeam::cpu {

// Beams [first, first + n) of a slot, scanned together.
struct Group {
  const StepJob& job;
  const SlotPlan& plan;
  const SlotStep& slot;
  Piece& piece;
  Lane& lane;
  int32_t first, n, end;  // `end`: of the live beams of the piece

  Found& found() const { return *piece.found; }
  Selection& selection() const { return piece.found->selection; }
  const LevelView& level() const { return plan.index->level[plan.level]; }
  // Scores fall with m and log-probs never exceed 0, so the row could not show in the result, even if it were bad.
  bool may_skip(int32_t m) const { return job.may_skip && slot.scores[m] < selection().threshold(); }
  // Whether no row can be skipped yet.
  bool skips_none() const {
    return !job.may_skip || selection().threshold() == -std::numeric_limits<float>::infinity();
  }
  // The node of beam first + i, which must be fed.
  uint64_t node_of(int32_t i) const { return state_node(slot.states[first + i]); }
  uint32_t place(int32_t m, uint32_t number) const { return place_of(m, number, plan.number_bits); }
  // Offsets of the elements of beam m's children; only if the rows hold nothing else.
  const int64_t* children_of(int32_t m) const { return job.child_offsets + slot.batch * job.beams + m; }
  RowPlace row_of(int32_t m) const {
    if (job.child_offsets != nullptr) return {slot.batch * job.beams + m, *children_of(m)};
    const bool mapped = job.row_map != nullptr;
    const int64_t row = mapped ? job.row_map[slot.batch * job.beams + m] : m;
    return place_of_row(mapped, slot.batch, row, job.rows->rows, job.rows->slot_stride, job.rows->row_stride);
  }
  const void* data_at(const RowPlace& place) const {
    return static_cast<const char*>(job.rows->data) + place.offset * element_bytes(job.rows->dtype);
  }
};

inline SlotPlan plan_for(const Kernels& kernels, const StepJob& job, const SlotStep& slot) {
  SlotPlan plan;
  plan.kernels = &kernels;
  plan.index = slot.index;
  plan.rules = slot.rules;
  plan.level = slot.level;
  plan.number_bits = number_bits(symbols_at(*slot.index, slot.level));
  plan.strategy = job.strategy;
  plan.top_k = job.top_k;
  plan.columns = job.columns[slot.level];
  plan.column_count = job.rows->columns;
  plan.elements = {job.rows->data, job.rows->dtype, slot.settings.inverse_temperature, slot.settings.soft_cap};
  plan.truncation = slot.sampling.truncation;
  plan.children_alone = job.child_offsets != nullptr;
  decide(plan, job.normalization, job.lse != nullptr);
  return plan;
}

// Records a beam whose row is bad; `rank` is what beams are ordered by.
inline void note_bad(const Group& group, float rank, RowOutcome outcome) {
  if (outcome != RowOutcome::kBad && outcome != RowOutcome::kBadLse) return;
  ++group.lane.counters.rows_bad;
  BestBad& best = group.piece.best_bad;
  raise(outcome == RowOutcome::kBad ? best.row : best.lse, rank);
}

inline void count_only_children(const Group& group, int32_t n) {
  group.lane.counters.rows_read += n;
  group.lane.counters.single_rows += n;
  group.lane.counters.candidates += n;
}

// Computes the normalisers of a group's rows. Beams that are not fed need no row, and their entries of a map may hold
// anything. If all are fed and the rows are a fixed stride apart, no addresses are looked up (which took up to 1 % of a
// step). With `copies` of each, elements are copied meanwhile.
inline void sum_group(const Group& group, RowCopy* copies = nullptr) {
  const SlotStep& slot = group.slot;
  const StepJob& job = group.job;
  const void* rows[kMostTogether + 1];
  RowsToSum sums;
  sums.elements = group.plan.elements;
  sums.count = group.n;
  sums.copies = copies;
  if (job.row_map == nullptr && group.skips_none() && are_fed(slot.states + group.first, group.n)) {
    sums.elements.data = group.data_at(group.row_of(group.first));
    sums.stride = job.rows->row_stride * element_bytes(job.rows->dtype);
  } else {
    for (int32_t i = 0; i <= group.n; ++i) {
      const int32_t m = group.first + i;
      const bool fed = m < group.end && node_to_feed(slot.states[m]) != kUnfed && !group.may_skip(m);
      rows[i] = fed ? group.data_at(group.row_of(m)) : nullptr;
    }
    sums.rows = rows;
  }
  group.lane.maxima = sum_ahead(group.plan, sums, group.lane.workspace, group.lane.logs);
}

// Finds the rows of beams first + [begin, n) of which only[i - begin] says kNotOne, as far as their nodes have rows.
inline void find_rows(const Group& group, int32_t begin, const uint32_t* only, NodeRow* rows) {
  const int64_t* states = group.slot.states + group.first;
  if (!group.plan.in_tail())
    group.plan.kernels->find_rows(group.level(), states + begin, group.n - begin, only, rows + begin);
  if (group.plan.index->overlay == nullptr) return;
  for (int32_t i = begin; i < group.n; ++i) {
    const uint64_t node = node_to_feed(states[i]);
    if (only[i - begin] == kNotOne && node != kUnfed && is_added(group.plan, node))
      rows[i] = find_row(group.plan, node);
  }
}

// Everything about the row of beam first + i except how its children are found.
inline void fill_task(const Group& group, int32_t i, RowTask& task) {
  const SlotStep& slot = group.slot;
  const Lane& lane = group.lane;
  const int32_t m = group.first + i;
  const RowPlace place = group.row_of(m);
  task.data = group.data_at(place);
  if (group.job.child_offsets != nullptr) task.elements = group.children_of(m)[1] - group.children_of(m)[0];
  if (group.job.lse != nullptr) task.lse = group.job.lse + place.number;
  task.node = state_node(slot.states[m]);
  if (uses_columns(group.plan.strategy)) task.range_end = slot.range_ends[m];
  task.row.score = slot.scores[m];
  task.row.place_base = group.place(m, 0);
  if (!group.plan.sums_ahead()) return;
  if (lane.maxima != nullptr) task.maxima = lane.maxima + i * lane.workspace.maxima_room;
  task.row.normalizer = lane.logs[i];
}

// The state that follows a beam by a code.
inline BeamState state_after(const StepJob& job, const SlotStep& slot, const BeamState& before, uint32_t code) {
  if (job.strategy == SIDBEAM_STRATEGY_TRIE) return {next_state(*slot.index, before.state, code), 0};
  return next_without_trie(job.strategy, *slot.index, slot.level, {state_node(before.state), before.range_end}, code);
}

}  // namespace sidbeam::cpu
