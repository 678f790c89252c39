// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/short_lists.h"

#include <algorithm>

namespace sidbeam::cpu {
namespace {

// Beams from `first` on, of a group.
struct ShortRun {
  const Group& group;
  int32_t first, n;
  ShortWorkspace& memory;

  ShortList& list(int32_t i) const { return memory.lists[i]; }
  uint32_t* tokens(int32_t i) const { return memory.tokens.data() + i * kShortStride; }
  float* copy(int32_t i) const { return memory.x.data() + i * kShortStride; }
};

// Whether a list is short and does not hold the end, which is its last code.
bool is_short(const LevelView& level, const Row& row) {
  return row.count <= kMostShort && (row.count == 0 || level.tokens[row.begin + row.count - 1] < level.codes);
}

// Of a state that has ended or is at a node of the delta, whose row is a merged one.
constexpr uint64_t kEndedOrDelta = uint64_t{1} << kEndedShift | kDeltaNode;

// The number of beams from `first` on, as many as are taken at a time, that have short lists, have not ended and may
// not be skipped.
int32_t count_short(const Group& group, int32_t first, const NodeRow* rows) {
  const int32_t most = std::min(group.first + group.n - first, kShortTogether);
  int32_t n = 0;
  while (n < most && (static_cast<uint64_t>(group.slot.states[first + n]) & kEndedOrDelta) == 0 &&
         is_short(group.level(), rows[n].row) && !group.may_skip(first + n))
    ++n;
  return n;
}

// Takes out of the lists of several codes those that rules do not allow.
void keep_allowed(const ShortRun& run, const NodeRow* rows) {
  const RulesView& rules = *run.group.plan.rules;
  const Subset& edges = rules.level[run.group.plan.level].edges;
  for (int32_t i = 0; i < run.n; ++i) {
    ShortList& list = run.list(i);
    if (list.count < 2) continue;
    const uint64_t allowed = rules.allowed_of(edges, rows[i].row.begin, static_cast<uint32_t>(list.count));
    uint32_t* tokens = run.tokens(i);
    int32_t kept = 0;
    for (int32_t k = 0; k < list.count; ++k) {
      tokens[kept] = tokens[k];
      kept += static_cast<int32_t>(allowed >> k & 1);
    }
    list.count = kept;
  }
}

// The normaliser, where the caller gave it.
RowOutcome use_given_of(const Group& group, int32_t m, RowScore& score) {
  const float* lse = group.job.lse;
  return use_given(lse != nullptr ? lse + group.row_of(m).number : nullptr, score);
}

// The x of a list in a row that holds children alone. False unless there are as many as children.
bool find_given_x(const ShortRun& run, int32_t i, ShortList& list) {
  const Group& group = run.group;
  const SlotPlan& plan = group.plan;
  const int64_t* offsets = group.children_of(run.first + i);
  if (offsets[1] - offsets[0] != list.count) return false;
  const bool in_place = plan.elements.dtype == SIDBEAM_DTYPE_F32 && !plan.elements.transformed();
  if (in_place && offsets[0] + kShortStride <= group.job.rows->columns) {
    list.x = static_cast<const float*>(plan.elements.data) + offsets[0];
  } else {
    plan.kernels->load(plan.elements, offsets[0], list.count, run.copy(i));
    list.x = run.copy(i);
  }
  return true;
}

template <class Element>
void gather_elements(const void* row, const uint32_t* tokens, int32_t n, float* x) {
  const auto* elements = static_cast<const Element*>(row);
  for (int32_t i = 0; i < n; ++i) x[i] = float_of(elements[tokens[i]]);
}

// The x of a list in a row of all columns.
void gather_x(const ShortRun& run, int32_t i, ShortList& list) {
  const SlotPlan& plan = run.group.plan;
  const RowPlace place = run.group.row_of(run.first + i);
  const void* row = run.group.data_at({place.number, place.offset + plan.columns.offset});
  float* x = run.copy(i);
  if (plan.elements.dtype == SIDBEAM_DTYPE_F32) gather_elements<float>(row, run.tokens(i), list.count, x);
  if (plan.elements.dtype == SIDBEAM_DTYPE_F16) gather_elements<F16>(row, run.tokens(i), list.count, x);
  if (plan.elements.dtype == SIDBEAM_DTYPE_BF16) gather_elements<Bf16>(row, run.tokens(i), list.count, x);
  if (plan.elements.transformed()) plan.kernels->transform(plan.elements, x, list.count);
  list.x = x;
}

// Finds the x of a beam's list, and its normaliser unless that is computed from them.
RowOutcome prepare_list(const ShortRun& run, int32_t i, ShortList& list) {
  const Group& group = run.group;
  const int32_t m = run.first + i;
  list.score = {group.slot.scores[m], {}, true, group.place(m, 0)};
  RowOutcome outcome = RowOutcome::kReady;
  if (group.plan.normalizer == Normalizer::kGiven) outcome = use_given_of(group, m, list.score);
  if (outcome != RowOutcome::kReady || list.count == 0) return outcome;
  if (group.plan.normalizer == Normalizer::kGiven) ++group.lane.counters.list_rows;
  if (!group.plan.children_alone) {
    gather_x(run, i, list);
  } else if (!find_given_x(run, i, list)) {
    return RowOutcome::kBad;
  }
  if (group.plan.normalizer == Normalizer::kChildren) return outcome;
  return is_bad_value(list.score, group.plan.kernels->largest(list.x, list.count)) ? RowOutcome::kBad : outcome;
}

// Notes what is wrong with a list, which then has no candidates.
void drop_unless_ready(const ShortRun& run, RowOutcome outcome, ShortList& list) {
  if (outcome == RowOutcome::kReady) return;
  note_bad(run.group, list.score.score, outcome);
  list.count = 0;
}

void prepare_lists(const ShortRun& run) {
  StepCounters& counters = run.group.lane.counters;
  for (int32_t i = 0; i < run.n; ++i) {
    ShortList& list = run.list(i);
    drop_unless_ready(run, prepare_list(run, i, list), list);
    counters.rows_read += is_live(run.group.slot.states[run.first + i]) ? 1 : 0;
  }
  if (run.group.plan.normalizer == Normalizer::kChildren) {
    run.group.plan.kernels->sum_short(run.memory.lists.data(), run.n);
    for (int32_t i = 0; i < run.n; ++i) {
      if (run.list(i).count > 0) drop_unless_ready(run, use_computed(run.list(i).score), run.list(i));
      counters.list_rows += run.list(i).count > 0 ? 1 : 0;
    }
  }
  for (int32_t i = 0; i < run.n; ++i) counters.candidates += run.list(i).count;
}

}  // namespace

int32_t take_short_lists(const Group& group, int32_t i) {
  const SlotPlan& plan = group.plan;
  const NodeRow* rows = group.found().rows.data() + group.first + i;
  ShortRun run{group, group.first + i, count_short(group, group.first + i, rows), group.lane.workspace.lists};
  if (run.n == 0) return 0;
  run.n = plan.kernels->copy_short(group.level(), rows, run.n, run.tokens(0), run.memory.lists.data());
  if (run.n == 0) return 0;
  if (plan.rules != nullptr) keep_allowed(run, rows);
  prepare_lists(run);
  group.selection().append_short(run.memory.lists.data(), run.tokens(0), run.n);
  return run.n;
}

}  // namespace sidbeam::cpu
