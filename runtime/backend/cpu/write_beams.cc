// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/write_beams.h"

#include <algorithm>
#include <limits>

#include "index/lookup.h"
#include "index/state.h"

namespace sidbeam::cpu {
namespace {

void prefetch(const UintArray& array, uint64_t i) {
  __builtin_prefetch(static_cast<const char*>(array.data) + i * static_cast<uint64_t>(array.width));
}

// The state of a beam after a step of the other strategies. On a damaged index a token may turn out to lead nowhere: that
// beam is dead to the next step.
int64_t continue_beam(const StepJob& job, const SlotStep& slot, int32_t parent, int32_t& token, uint64_t& range_end) {
  const int64_t before = slot.states[parent];
  const LevelView& level = slot.index->level[slot.level];
  if (is_ended(before)) {
    if (uses_columns(job.strategy)) range_end = slot.range_ends[parent];
    token = -1;
    return before;
  }
  const auto code = static_cast<uint32_t>(token);
  State state{slot.level + 1, slot.index->variable_length && code == level.codes, NodeKind::kOpaque, 0};
  if (uses_columns(job.strategy)) {
    const OrdinalRange found =
        column_range(*slot.index, slot.level, {state_node(before), slot.range_ends[parent]}, code);
    state.kind = NodeKind::kSorted;
    state.node = found.lo;
    range_end = found.hi;
  }
  return encode_state(state);
}

// The states of beams of the trie that had several children, or were ended, which have no token.
void follow_others(const Kernels& kernels, const SlotStep& slot, const Found& found, const Winners& winners) {
  const IndexView& index = *slot.index;
  const bool is_tail = is_tail_level(index, slot.level);
  if (!is_tail) kernels.follow_rows(index, slot.level, found.rows.data(), winners);
  if (!is_tail && !index.variable_length) return;
  for (int32_t m = 0; m < winners.n; ++m) {
    const int32_t parent = winners.parents[m];
    const int64_t before = slot.states[parent];
    if (is_ended(before)) {
      slot.tokens[m] = -1;
      winners.states[m] = before;
    } else if (is_tail && winners.states[m] == kDeadState) {
      winners.states[m] = next_state(index, before, static_cast<uint32_t>(slot.tokens[m]));
    }
  }
}

// Of the trie: most beams are the only children of theirs, whose states are known. Fetches the row pointers that the next
// step will want.
void follow_trie(const Kernels& kernels, const SlotStep& slot, int32_t count, const Found& found, int64_t* states) {
  const IndexView& index = *slot.index;
  const int32_t *parents = slot.parents, next = slot.level + 1;
  bool all_only = true;
  for (int32_t m = 0; m < count; ++m) {
    states[m] = found.only_next[parents[m]];
    all_only = all_only && states[m] != kDeadState;
  }
  if (!all_only) follow_others(kernels, slot, found, {parents, slot.tokens, count, states});
  if (next > index.csr_levels || next == index.levels) return;
  const UintArray ahead = next < index.csr_levels ? index.level[next].row_pointers : index.level[next].ordinals;
  for (int32_t m = 0; m < count; ++m) prefetch(ahead, state_node(states[m]));
}

}  // namespace

int32_t write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, int64_t* states,
                    uint64_t* range_ends) {
  int32_t *parents = slot.parents, *tokens = slot.tokens;
  float* scores = slot.scores;
  const int32_t count = found.selection.finish([=](int32_t m, float score, uint32_t place) {
    parents[m] = beam_of(place);
    tokens[m] = static_cast<int32_t>(token_of(place));
    scores[m] = score;
  });
  if (job.strategy == SIDBEAM_STRATEGY_TRIE) {
    follow_trie(kernels, slot, count, found, states);
  } else {
    for (int32_t m = 0; m < count; ++m) states[m] = continue_beam(job, slot, parents[m], tokens[m], range_ends[m]);
  }
  std::copy_n(states, count, slot.states);
  if (uses_columns(job.strategy)) std::copy_n(range_ends, count, slot.range_ends);
  const int64_t history = int64_t{slot.level} * job.beams;
  std::copy_n(parents, count, slot.history_parents + history);
  std::copy_n(tokens, count, slot.history_tokens + history);
  const int32_t dead = job.beams - count;
  std::fill_n(slot.parents + count, dead, -1);
  std::fill_n(slot.tokens + count, dead, -1);
  std::fill_n(slot.states + count, dead, kDeadState);
  std::fill_n(slot.scores + count, dead, -std::numeric_limits<float>::infinity());
  int32_t active = count;
  for (int32_t m = 0; slot.index->variable_length && m < count; ++m) active -= is_ended(states[m]) ? 1 : 0;
  *slot.live = count;
  *slot.active = slot.level + 1 == slot.index->levels ? 0 : active;
  return count;
}

}  // namespace sidbeam::cpu
