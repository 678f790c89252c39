// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/beams.h"
#include "backend/cpu/chain.h"
#include "backend/cpu/group.h"
#include "backend/cpu/only_children.h"
#include "backend/cpu/short_lists.h"
#include "index/read/state.h"

namespace sidbeam::cpu {
namespace {

// Scans the row of beam first + i alone.
void take_row(const Group& group, int32_t i) {
  const SlotStep& slot = group.slot;
  const SlotPlan& plan = group.plan;
  Lane& lane = group.lane;
  const int32_t m = group.first + i;
  if (!is_live(slot.states[m])) return;
  if (is_ended(slot.states[m])) return group.selection().push(slot.scores[m], group.place(m, 0));
  if (group.may_skip(m)) {
    ++lane.counters.rows_skipped;
    return;
  }
  RowTask task;
  fill_task(group, i, task);
  task.found = &group.found().rows[m];
  if (plan.path == Path::kProbes && plan.strategy == SIDBEAM_STRATEGY_HASH_FINAL) {
    tokens_of_beam({slot.history_parents, slot.history_tokens, group.job.beams}, slot.level, m, lane.prefix.data());
    task.prefix = lane.prefix.data();
  }
  ++lane.counters.rows_read;
  const RowOutcome outcome = scan_row(plan, task, lane.workspace, group.selection(), lane.counters);
  if (outcome != RowOutcome::kReady) note_bad(group, group.slot.scores[m], outcome);
}

// Follows the first `count` beams along their only edges, a vector at a time, up to the first with a number that is not
// finite; returns the number followed. Follows none if there is a threshold, since rows may then have been left out of
// the sums.
int32_t push_chain(const Group& group, const Chain& chain, const uint32_t* edges, int32_t count, int64_t* next) {
  if (count == 0) return 0;
  Selection& selection = group.selection();
  const Room room = selection.room_for(group.n);
  int32_t done = 0;
  if (room.count > 0) {
    done = group.plan.kernels->follow_chain(chain, edges, count, {room.scores, room.places, next});
    selection.take(done);
  } else if (!group.plan.sums_ahead()) {
    float scores[kMostInChain];
    uint32_t places[kMostInChain];
    done = group.plan.kernels->follow_chain(chain, edges, count, {scores, places, next});
    selection.append({0.0F, {}, false, 0}, scores, places, done);
  }
  count_only_children(group, done);
  return done;
}

// Handles an only child whose x, normaliser or score is not finite: it is no candidate, and its row may be bad.
void note_odd(const Group& group, int32_t m, const ChildRows& rows, const float* lse, float x) {
  RowScore row{group.slot.scores[m], {}, false, 0};
  if (rows.sums != nullptr) {
    row.normalizer = rows.sums[m - group.first];
    return note_bad(group, group.slot.scores[m], use_computed(row));
  }
  const RowOutcome outcome = use_given(lse, row);
  note_bad(group, group.slot.scores[m],
           outcome == RowOutcome::kReady && is_bad_value(row, x) ? RowOutcome::kBad : outcome);
}

// The same one by one, for all dtypes and numbers, from beam first + begin up to the first that does not have exactly
// one child; returns that position. If all candidates are accepted, they are written directly, because each push would
// wait for the count left by the one before.
template <class Element>
int32_t push_each(const Group& group, const ChildRows rows, const uint32_t* only, const int32_t begin) {
  const auto* elements = static_cast<const Element*>(rows.data);
  const float* before = group.slot.scores + group.first;
  Selection& selection = group.selection();
  const Room room = selection.room_for(group.n - begin);
  int32_t i = begin, skipped = 0, kept = 0;
  for (; i < group.n && only[i] != kNotOne; ++i) {
    if (room.count == 0 && group.may_skip(group.first + i)) {
      ++skipped;
      continue;
    }
    const int64_t number = rows.row(i);
    const float* lse = rows.lse != nullptr ? rows.lse + number : nullptr;
    const float x = float_of(elements[number * rows.stride + only[i]]);
    const LogSum normalizer = rows.sums != nullptr ? rows.sums[i] : LogSum{lse != nullptr ? *lse : 0.0F, 0.0F};
    const float score = score_of_one({before[i], normalizer, rows.sums != nullptr, 0}, x);
    const uint32_t place = group.place(group.first + i, only[i]);
    if (!(x < kInfinity && std::fabs(normalizer.ref) < kInfinity && std::fabs(score) < kInfinity)) {
      note_odd(group, group.first + i, rows, lse, x);
    } else if (room.count > 0) {
      room.scores[kept] = score;
      room.places[kept++] = place;
    } else {
      selection.push(score, place);
    }
  }
  selection.take(kept);
  group.lane.counters.rows_skipped += skipped;
  count_only_children(group, i - begin - skipped);
  return i;
}

int32_t push_only_children(const Group& group, const ChildRows& rows, const uint32_t* only, int32_t begin) {
  if (group.job.rows->dtype == SIDBEAM_DTYPE_F32) return push_each<float>(group, rows, only, begin);
  if (group.job.rows->dtype == SIDBEAM_DTYPE_F16) return push_each<F16>(group, rows, only, begin);
  return push_each<Bf16>(group, rows, only, begin);
}

// Path kChains. The edges of beams with one child are found before the rows are summed, so that their prefetched codes
// have arrived by then. Candidates must come in the order of beams: vectors of only children first, then, from the
// first other beam on, one beam at a time.
void scan_chains(const Group& group) {
  const IndexView& index = *group.plan.index;
  const int32_t level = group.plan.level, n = group.n;
  const int64_t* states = group.slot.states + group.first;
  int64_t* next = group.found().only_next.data() + group.first;
  uint32_t edges[kMostInChain], only[kMostTogether];
  Chain chain;
  const LogSum* sums = group.plan.sums_ahead() ? group.lane.logs : nullptr;
  const ChildRows rows = child_rows(group.job, group.plan, group.slot, group.first, sums);
  const bool chained = make_chain(group.job, group.plan, group.slot, group.first, rows, chain);
  int32_t done = chained ? group.plan.kernels->find_edges(chain, n, edges) : 0;
  if (sums != nullptr) {
    fetch_children(index, level, states + done, n - done);
    sum_group(group);
  }
  done = push_chain(group, chain, edges, done, next);
  if (done == n) return;
  find_only_children(index, level, {states + done, n - done, only + done, next + done});
  fetch_next(index, level, next + done, n - done);
  find_rows(group, done, only + done, group.found().rows.data() + group.first);
  for (int32_t i = done; i < n; ++i) {
    if (only[i] != kNotOne) i = push_only_children(group, rows, only, i);
    if (i == n) return;
    group.found().all_only = false;
    take_row(group, i);
  }
}

// All other paths: lists of few children together, other rows one by one.
void scan_rows(const Group& group) {
  const int32_t n = group.n;
  group.found().all_only = false;
  std::fill_n(group.found().only_next.data() + group.first, n, kDeadState);
  if (group.plan.sums_ahead()) sum_group(group);
  const bool in_tail = group.plan.path == Path::kTail;
  if (group.plan.path == Path::kNodes || (in_tail && group.plan.index->overlay != nullptr)) {
    const int32_t next = group.first + n;
    fetch_next(*group.plan.index, group.plan.level - 1, group.slot.states + next, std::min(n, group.end - next));
    fetch_children(*group.plan.index, group.plan.level, group.slot.states + group.first, n);
    uint32_t only[kMostTogether];
    std::fill_n(only, n, kNotOne);
    find_rows(group, 0, only, group.found().rows.data() + group.first);
  }
  const bool takes_short = takes_short_lists(group.plan);
  for (int32_t i = 0; i < n;) {
    const int32_t taken = takes_short ? take_short_lists(group, i) : 0;
    if (taken == 0) take_row(group, i);
    i += std::max(taken, 1);
  }
}

}  // namespace

void scan_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane) {
  const SlotStep& slot = *piece.slot;
  const SlotPlan plan = plan_for(kernels, job, slot);
  const int32_t end = std::min(piece.end, *slot.live), together = rows_together(plan, lane.workspace.maxima_rows);
  piece.found->selection.reset(slot.width);
  piece.found->all_only = true;
  piece.best_bad = {};
  for (int32_t m = piece.begin; m < end; m += together) {
    const Group group{job, plan, slot, piece, lane, m, std::min(together, end - m), end};
    if (plan.path == Path::kChains) {
      scan_chains(group);
    } else {
      scan_rows(group);
    }
    piece.found->selection.flush();
  }
}

}  // namespace sidbeam::cpu
