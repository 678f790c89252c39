// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/write_beams.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/only_children.h"
#include "index/lookup.h"
#include "index/state.h"

namespace sidbeam::cpu {
namespace {

void prefetch(const UintArray& array, uint64_t i) {
  __builtin_prefetch(static_cast<const char*>(array.data) + i * static_cast<uint64_t>(array.width));
}

// The state of a beam after a step of the other strategies. On a damaged index a token may turn out to lead nowhere: that
// beam is dead to the next step.
int64_t continue_beam(const StepJob& job, const SlotStep& slot, int32_t parent, uint32_t token, uint64_t& range_end) {
  const int64_t before = slot.states[parent];
  const LevelView& level = slot.index->level[slot.level];
  if (is_ended(before)) {
    if (uses_columns(job.strategy)) range_end = slot.range_ends[parent];
    return before;
  }
  State state{slot.level + 1, slot.index->variable_length && token == level.codes, NodeKind::kOpaque, 0};
  if (uses_columns(job.strategy)) {
    const OrdinalRange found =
        column_range(*slot.index, slot.level, {state_node(before), slot.range_ends[parent]}, token);
    state.kind = NodeKind::kSorted;
    state.node = found.lo;
    range_end = found.hi;
  }
  return encode_state(state);
}

// Calls state(parent, token) for every beam chosen; an ended one has no token.
template <class State>
void write_chosen(const SlotStep& slot, const uint32_t* places, int32_t count, int64_t* states, const State& state) {
  int32_t *parents = slot.parents, *tokens = slot.tokens;
  const int64_t* before = slot.states;
  for (int32_t m = 0; m < count; ++m) {
    const int32_t parent = beam_of(places[m]);
    const uint32_t token = token_of(places[m]);
    parents[m] = parent;
    tokens[m] = node_to_feed(before[parent]) == kUnfed ? -1 : static_cast<int32_t>(token);
    states[m] = state(parent, token, m);
  }
}

// Of the trie: most beams are the only children of theirs, whose states are known. Fetches the row pointers that the next
// step will want.
void write_trie(const Kernels& kernels, const SlotStep& slot, const uint32_t* places, int32_t count,
                const int64_t* only_next, int64_t* states) {
  const IndexView& index = *slot.index;
  const int32_t next = slot.level + 1;
  const UintArray ahead = next > index.csr_levels || next == index.levels ? UintArray{}
                          : next == index.csr_levels                      ? index.level[next].ordinals
                                                                          : index.level[next].row_pointers;
  write_chosen(slot, places, count, states, [&](int32_t parent, uint32_t token, int32_t /*m*/) {
    int64_t state = only_next[parent];
    if (state == kDeadState) {
      const int64_t before = slot.states[parent];
      state = is_ended(before) ? before : next_state(index, before, token, kernels.bits_before);
    }
    if (ahead) prefetch(ahead, state_node(state));
    return state;
  });
}

void write_states(const Kernels& kernels, const StepJob& job, const SlotStep& slot, const uint32_t* places,
                  int32_t count, const int64_t* only_next, int64_t* states, uint64_t* range_ends) {
  if (job.strategy != SIDBEAM_STRATEGY_TRIE) {
    write_chosen(slot, places, count, states, [&](int32_t parent, uint32_t token, int32_t m) {
      return continue_beam(job, slot, parent, token, range_ends[m]);
    });
  } else {
    write_trie(kernels, slot, places, count, only_next, states);
  }
}

}  // namespace

void write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, const Selection& selection,
                 int32_t count, const int64_t* only_next, int64_t* states, uint64_t* range_ends) {
  write_states(kernels, job, slot, selection.places(), count, only_next, states, range_ends);
  std::copy_n(states, count, slot.states);
  if (uses_columns(job.strategy)) std::copy_n(range_ends, count, slot.range_ends);
  std::copy_n(selection.scores(), count, slot.scores);
  const int32_t dead = job.beams - count;
  std::fill_n(slot.parents + count, dead, -1);
  std::fill_n(slot.tokens + count, dead, -1);
  std::fill_n(slot.states + count, dead, kDeadState);
  std::fill_n(slot.scores + count, dead, -std::numeric_limits<float>::infinity());
  int32_t active = count;
  for (int32_t m = 0; slot.index->variable_length && m < count; ++m) active -= is_ended(states[m]) ? 1 : 0;
  *slot.live = count;
  *slot.active = slot.level + 1 == slot.index->levels ? 0 : active;
}

}  // namespace sidbeam::cpu
