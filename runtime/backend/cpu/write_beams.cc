// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/write_beams.h"

#include <algorithm>
#include <limits>

#include "backend/beams.h"
#include "backend/cpu/only_children.h"
#include "index/read/state.h"

namespace sidbeam::cpu {
namespace {

// The state of a beam after a step of the other strategies; an ended beam stays as it is. On a damaged index a code may
// lead nowhere; the next step then treats the beam as dead.
BeamState continue_beam(const StepJob& job, const SlotStep& slot, int32_t parent, int32_t& token) {
  const int64_t before = slot.states[parent];
  const uint64_t range_end = uses_columns(job.strategy) ? slot.range_ends[parent] : 0;
  if (is_ended(before)) {
    token = -1;
    return {before, range_end};
  }
  return next_without_trie(job.strategy, *slot.index, slot.level, {state_node(before), range_end},
                           static_cast<uint32_t>(token));
}

bool is_in_delta(const SlotStep& slot, int64_t state) {
  return !is_ended(state) && node_to_feed(state) != kUnfed && in_delta(*slot.index, slot.level, state_node(state));
}

// The row of the base's node of the same prefix as one of the delta; in the tail there is none.
NodeRow base_row(const SlotStep& slot, int64_t state) {
  const OverlayView& overlay = *slot.index->overlay;
  const uint64_t node = delta_state(decode_state(state)).node;
  if (is_tail_level(*slot.index, slot.level) || node >= overlay.delta->level[slot.level].nodes) return {};
  const uint64_t base = base_of(overlay, slot.level, node);
  return base != kNoNode ? node_row(slot.index->level[slot.level], base) : NodeRow{};
}

// Fills in the states of beams that stay in the delta, of parents there. Their other children are the base's:
// follow_rows() searches for these in the base's row of the same prefix, which takes the place of the merged one.
void follow_delta_beams(const SlotStep& slot, Found& found, const Winners& winners) {
  for (int32_t p = 0; p < *slot.live; ++p)
    if (is_in_delta(slot, slot.states[p])) found.rows[p] = base_row(slot, slot.states[p]);
  for (int32_t m = 0; m < winners.n; ++m) {
    const int64_t before = slot.states[winners.parents[m]];
    if (winners.states[m] != kDeadState || !is_in_delta(slot, before)) continue;
    State next = delta_state(decode_state(before));
    if (!follow_base(*slot.index->overlay->delta, next, static_cast<uint32_t>(winners.tokens[m]))) continue;
    next.node |= kDeltaNode;
    winners.states[m] = encode_state(next);
  }
}

// With the trie: fills in the states of beams whose parents had several children or had ended; ended ones have no code.
void follow_others(const Kernels& kernels, const SlotStep& slot, Found& found, const Winners& winners) {
  const IndexView& index = *slot.index;
  const bool is_tail = is_tail_level(index, slot.level);
  if (index.overlay != nullptr) follow_delta_beams(slot, found, winners);
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

// The states of beams that are not only children, and the tokens of ended ones. What the next step looks up for only
// children has been prefetched before, since they nearly always stay.
void write_others(const Kernels& kernels, const StepJob& job, const SlotStep& slot, int32_t count, Found& found,
                  int64_t* states, uint64_t* range_ends) {
  const IndexView& index = *slot.index;
  if (job.strategy == SIDBEAM_STRATEGY_TRIE) {
    follow_others(kernels, slot, found, {slot.parents, slot.tokens, count, states});
    fetch_next(index, slot.level, states, count);
  } else {
    for (int32_t m = 0; m < count; ++m) {
      const BeamState next = continue_beam(job, slot, slot.parents[m], slot.tokens[m]);
      states[m] = next.state;
      range_ends[m] = next.range_end;
    }
  }
  std::copy_n(states, count, slot.states);
  if (uses_columns(job.strategy)) std::copy_n(range_ends, count, slot.range_ends);
  std::copy_n(slot.tokens, count, slot.history_tokens + int64_t{slot.level} * job.beams);
}

void clear_beams(const SlotStep& slot, int32_t begin, int32_t end) {
  std::fill(slot.parents + begin, slot.parents + end, -1);
  std::fill(slot.tokens + begin, slot.tokens + end, -1);
  std::fill(slot.states + begin, slot.states + end, kDeadState);
  std::fill(slot.scores + begin, slot.scores + end, -std::numeric_limits<float>::infinity());
}

}  // namespace

int32_t write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, int64_t* states,
                    uint64_t* range_ends) {
  const Chosen chosen = found.selection.choose();
  const int32_t count = chosen.count;
  const int64_t history = int64_t{slot.level} * job.beams;
  // Beams that are not only children need the states of their parents, so the new ones go elsewhere first.
  const BeamsOut out{slot.scores,
                     slot.parents,
                     slot.tokens,
                     slot.history_parents + history,
                     slot.history_tokens + history,
                     found.all_only ? slot.states : states,
                     number_bits(symbols_at(*slot.index, slot.level))};
  kernels.write_chosen(chosen, found.only_next.data(), out);
  if (!found.all_only) write_others(kernels, job, slot, count, found, states, range_ends);
  if (count < job.beams) clear_beams(slot, count, job.beams);
  int32_t ended = 0;
  for (int32_t m = 0; slot.index->variable_length && m < count; ++m) ended += is_ended(slot.states[m]) ? 1 : 0;
  *slot.live = count;
  *slot.active = active_after(*slot.index, slot.level, count, ended);
  return count;
}

}  // namespace sidbeam::cpu
