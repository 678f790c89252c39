// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cpu/chain.h"
#include "backend/cpu/draw.h"
#include "backend/cpu/group.h"

namespace sidbeam::cpu {
namespace {

// A beam before and after a step.
struct DrawnBeam {
  BeamState state;
  float score = -kInfinity, log_mass = -kInfinity;
  int32_t parent = -1, code = -1;
};

DrawnBeam drawn_beam_at(const SlotStep& slot, int32_t m) {
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

// `first_edge` is that of the parent's first child, or kNoEdge.
BeamState state_after_draw(const Group& group, const BeamState& before, const Drawn& drawn, uint64_t first_edge) {
  if (first_edge == kNoEdge) return state_after(group.job, group.slot, before, drawn.code);
  const uint64_t edge = first_edge + static_cast<uint64_t>(drawn.child);
  return {encode_state({group.plan.level + 1, drawn.code == group.level().codes, NodeKind::kTrie, edge}), 0};
}

bool is_finite(const DrawnBeam& beam) {
  return std::fabs(beam.score) < kInfinity && std::fabs(beam.log_mass) < kInfinity;
}

// The beam of a draw among its parent's children. `bad` if its score exceeds the range of f32.
DrawnBeam beam_after(const Group& group, const DrawnBeam& parent, const Drawn& drawn, uint64_t first_edge, bool& bad) {
  DrawnBeam beam = parent;
  beam.score += drawn.log_prob;
  beam.log_mass += drawn.log_mass;
  bad = bad || beam.score == kInfinity || beam.log_mass == kInfinity;
  if (!is_finite(beam)) return {};
  beam.state = state_after_draw(group, parent.state, drawn, first_edge);
  beam.code = static_cast<int32_t>(drawn.code);
  return is_live(beam.state.state) ? beam : DrawnBeam{};
}

// Lists and weighs the row of beam first + i in the lane's workspace, where it stays until the next one is listed.
RowOutcome list_beam(const Group& group, int32_t i, ListedRow& row) {
  Lane& lane = group.lane;
  RowTask task;
  fill_task(group, i, task);
  task.found = &lane.found.rows[i];
  ++lane.counters.rows_read;
  return list_row(group.plan, task, lane.workspace, lane.counters, row);
}

// The draws [begin, end) from the row of beam first + i; bits_of(m, n) are those of n <= kMostTogether draws from m on.
template <class BitsOf>
void draw_row(const Group& group, int32_t i, int32_t begin, int32_t end, const BitsOf& bits_of) {
  const SlotStep& slot = group.slot;
  const DrawnBeam parent = drawn_beam_at(slot, group.first + i);
  const bool goes_on = is_live(parent.state.state) && !is_ended(parent.state.state);
  ListedRow row;
  RowOutcome outcome = goes_on ? list_beam(group, i, row) : RowOutcome::kEmpty;
  if (outcome != RowOutcome::kReady) {
    const DrawnBeam stays = is_ended(parent.state.state) ? parent : DrawnBeam{};
    for (int32_t m = begin; m < end; ++m) write_beam(group.job, slot, m, stays);
    return note_bad(group, 0.0F, outcome);
  }
  bool bad = false;
  for (int32_t first = begin; first < end; first += kMostTogether) {
    const int32_t n = std::min(kMostTogether, end - first);
    Drawn drawn[kMostTogether];
    draw_codes(group.plan, row, group.lane.workspace, bits_of(first, n), n, drawn);
    for (int32_t j = 0; j < n; ++j)
      write_beam(group.job, slot, first + j, beam_after(group, parent, drawn[j], row.children.first_edge, bad));
  }
  if (bad) note_bad(group, 0.0F, RowOutcome::kBad);
}

void draw_one(const Group& group, int32_t i, const uint64_t* bits) {
  const int32_t m = group.first + i;
  draw_row(group, i, m, m + 1, [&](int32_t, int32_t) { return bits + i; });
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
  const uint32_t only = kNotOne;
  if (group.plan.strategy == SIDBEAM_STRATEGY_TRIE)
    find_rows({group.job, group.plan, slot, group.piece, group.lane, group.first, 1, group.end}, 0, &only,
              group.lane.found.rows.data());
  draw_row(group, 0, 0, slot.width, [&](int32_t first, int32_t n) {
    fill_bits(group, first, n, bits);
    return bits;
  });
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
  DrawnBeam beam = drawn_beam_at(group.slot, group.first + i);
  beam.score += log_prob;
  beam.log_mass += log_prob;
  if (!(x < kInfinity && std::fabs(row.normalizer.ref) < kInfinity && is_finite(beam))) return false;
  beam.state = {next, 0};
  beam.code = static_cast<int32_t>(code);
  write_beam(group.job, group.slot, group.first + i, beam);
  count_only_children(group, 1);
  return true;
}

bool take_only_child(const Group& group, const ChildRows& rows, int32_t i, uint32_t code, int64_t next, int32_t dtype) {
  if (dtype == SIDBEAM_DTYPE_F32) return take_only_child<float>(group, rows, i, code, next);
  if (dtype == SIDBEAM_DTYPE_F16) return take_only_child<F16>(group, rows, i, code, next);
  return take_only_child<Bf16>(group, rows, i, code, next);
}

// Whether the elements of children are copied while rows are summed: where all nodes are dense. Under rules they would
// be copied in vain where few are left.
bool copies_children(const SlotPlan& plan) {
  return plan.rules == nullptr && plan.path == Path::kNodes && plan.sums_ahead() && plan.columns.map == nullptr;
}

// Where the x of a row of `count` children begin and end, with room for the end's: on cache lines.
constexpr int64_t room_of(int32_t count) { return (count + kVectorSlack) / kVectorSlack * kVectorSlack; }

// Sums the rows of a group whose nodes are found, and copies the elements of their children as far as there is room.
// Those of all codes are in place. Elements of 16 bits lie in the second half of the room of their x.
void sum_and_copy(const Group& group) {
  DrawWorkspace& draw = group.lane.workspace.draw;
  int64_t at = 0;
  for (int32_t i = 0; i < group.n; ++i) {
    const TokenList list = list_of_node(group.plan, group.node_of(i), group.lane.found.rows[i]);
    const int64_t room = room_of(list.count);
    draw.copies[i] = {};
    if (at + room > draw.copied.size() || list.count == static_cast<int32_t>(group.level().codes)) continue;
    auto* end = reinterpret_cast<char*>(draw.copied.data() + at + room);
    draw.copies[i] = {list, end - room * element_bytes(group.plan.elements.dtype), false};
    at += room;
  }
  sum_group(group, draw.copies.data());
}

// The element of a child of beam first + i.
float element_of(const Group& group, int32_t i, uint32_t code) {
  const LevelColumns& columns = group.plan.columns;
  Elements elements = group.plan.elements;
  elements.data = group.data_at(group.row_of(group.first + i));
  return element_at(elements, code == group.level().codes ? columns.end_column : columns.offset + int64_t{code});
}

// The row of beam first + i, whose children's elements are copied.
DrawnRow copied_row(const Group& group, int32_t i, uint64_t bits) {
  const RowCopy& copy = group.lane.workspace.draw.copies[i];
  const int32_t dtype = group.plan.elements.dtype, count = static_cast<int32_t>(group.lane.found.rows[i].row.count);
  const int64_t room = room_of(copy.list.count);
  float* x = reinterpret_cast<float*>(static_cast<char*>(copy.out) + room * element_bytes(dtype)) - room;
  if (dtype != SIDBEAM_DTYPE_F32) group.plan.kernels->load({copy.out, dtype}, 0, copy.list.count, x);
  if (count > copy.list.count) x[copy.list.count] = element_of(group, i, group.level().codes);
  return {x, count, bits};
}

// The draw of beam first + i from such a row; `weights` is the logarithm of their sum.
void write_drawn(const Group& group, int32_t i, const DrawnRow& row, const LogSum& weights) {
  const int32_t m = group.first + i;
  RowScore score;
  score.normalizer = group.lane.logs[i];
  ++group.lane.counters.rows_read;
  DrawnBeam beam;
  const RowOutcome outcome = use_computed(score);
  if (outcome != RowOutcome::kReady) {
    note_bad(group, 0.0F, outcome);
  } else {
    group.lane.counters.candidates += row.count;
    if (row.chosen >= 0) {
      bool bad = false;  // no log-prob is above 0
      const uint64_t begin = group.lane.found.rows[i].row.begin;
      const uint64_t first_edge = is_added(group.plan, group.node_of(i)) ? kNoEdge : begin;
      const auto code = static_cast<uint32_t>(
          node_place(group.plan, group.node_of(i)).level->tokens[begin + static_cast<uint64_t>(row.chosen)]);
      const Drawn drawn{row.chosen, code, log_prob_of(score, element_of(group, i, code)), log_mass_of(score, weights)};
      beam = beam_after(group, drawn_beam_at(group.slot, m), drawn, first_edge, bad);
    }
  }
  write_beam(group.job, group.slot, m, beam);
}

// The draws of the rows of a group whose children's elements are copied.
void draw_copied(const Group& group, const uint64_t* bits) {
  DrawWorkspace& draw = group.lane.workspace.draw;
  LogSum weights[kMostTogether];
  int32_t n = 0;
  for (int32_t i = 0; i < group.n; ++i)
    if (draw.copies[i].done) draw.rows[n++] = copied_row(group, i, bits[i]);
  const int unit = weight_bits(symbols_at(*group.plan.index, group.plan.level));
  group.plan.kernels->draw_rows(draw.rows.data(), n, unit, draw.cumulative.data(), weights);
  n = 0;
  for (int32_t i = 0; i < group.n; ++i) {
    if (!draw.copies[i].done) continue;
    write_drawn(group, i, draw.rows[n], weights[n]);
    ++n;
  }
}

// Draws of a slot at a level of dense nodes, each from its own row.
void draw_nodes(const Group& group) {
  const int64_t* states = group.slot.states + group.first;
  uint32_t only[kMostTogether];
  uint64_t bits[kMostTogether];
  std::fill_n(only, group.n, kNotOne);
  fill_bits(group, group.first, group.n, bits);
  find_rows(group, 0, only, group.lane.found.rows.data());
  sum_and_copy(group);
  draw_copied(group, bits);
  for (int32_t i = 0; i < group.n; ++i)
    if (!group.lane.workspace.draw.copies[i].done) draw_one(group, i, bits);
  fetch_next(*group.plan.index, group.plan.level, states, group.n);
}

// Follows the first `count` beams of a group along their only edges, up to the first with a number that is not finite;
// returns the number followed.
int32_t draw_chain(const Group& group, const Chain& chain, const uint32_t* edges, int32_t count) {
  const SlotStep& slot = group.slot;
  float scores[kMostInChain], log_masses[kMostInChain];
  uint32_t places[kMostInChain];
  int64_t next[kMostInChain];
  count = group.plan.kernels->follow_chain(chain, edges, count, {scores, places, next, log_masses});
  const int64_t history = int64_t{slot.level} * group.job.beams + group.first;
  std::copy_n(scores, count, slot.scores + group.first);
  std::copy_n(log_masses, count, slot.log_masses + group.first);
  std::copy_n(next, count, slot.states + group.first);
  for (int32_t* parents : {slot.parents + group.first, slot.history_parents + history})
    std::iota(parents, parents + count, group.first);
  for (int32_t* tokens : {slot.tokens + group.first, slot.history_tokens + history})
    std::transform(places, places + count, tokens,
                   [](uint32_t place) { return static_cast<int32_t>(number_of(place)); });
  count_only_children(group, count);
  return count;
}

// Draws of a slot that has been stepped before, each from its own row. Codes are prefetched while rows are summed, as
// in scan.cc.
void draw_group(const Group& group) {
  const SlotPlan& plan = group.plan;
  const int32_t n = group.n;
  const int64_t* states = group.slot.states + group.first;
  const bool of_nodes = plan.strategy == SIDBEAM_STRATEGY_TRIE;
  const bool chains = plan.path == Path::kChains && !plan.truncation.any();
  const ChildRows rows =
      child_rows(group.job, plan, group.slot, group.first, plan.sums_ahead() ? group.lane.logs : nullptr);
  uint32_t edges[kMostInChain], only[kMostTogether] = {};
  int64_t next[kMostTogether];
  uint64_t bits[kMostTogether];
  Chain chain;
  const bool chained = chains && make_chain(group.job, plan, group.slot, group.first, rows, chain);
  int32_t done = chained ? plan.kernels->find_edges(chain, n, edges) : 0;
  if (chains) fetch_children(*plan.index, plan.level, states + done, n - done);
  if (plan.sums_ahead()) sum_group(group);
  if (done > 0) done = draw_chain(group, chain, edges, done);
  if (done == n) return;
  std::fill_n(only, n, kNotOne);
  if (chains) find_only_children(*plan.index, plan.level, {states + done, n - done, only + done, next + done});
  if (std::find(only + done, only + n, kNotOne) != only + n) {
    fill_bits(group, group.first, n, bits);
    if (of_nodes) find_rows(group, done, only + done, group.lane.found.rows.data());
  }
  for (int32_t i = done; i < n; ++i) {
    if (only[i] != kNotOne) {
      if (take_only_child(group, rows, i, only[i], next[i], group.job.rows->dtype)) continue;
      bits[i] = 0;
      if (of_nodes && has_row(plan, group.node_of(i))) group.lane.found.rows[i] = find_row(plan, group.node_of(i));
    }
    draw_one(group, i, bits);
  }
  if (plan.strategy == SIDBEAM_STRATEGY_TRIE) fetch_next(*plan.index, plan.level, states + done, n - done);
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
