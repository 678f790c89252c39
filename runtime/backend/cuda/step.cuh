// What the kernels of all steps share: a block's slot, its beam's row, and which block comes last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/row_scan.cuh"

namespace sidbeam::cuda {

// A block's slot, and what a part of a step needs, in shared memory. Where a launch has both parts, the slot stays.
template <class Part>
struct OfSlot {
  Entry entry;  // first, whatever the part is
  Part part;
};

// Finds the slot of entry `batch`; false if there is nothing to step. One thread looks for all: if a list names a slot
// twice, another block may end its step meanwhile, and threads that found different things would wait at different
// barriers.
__device__ inline bool find_slot(const SessionView& session, const StepView& step, int64_t batch, Entry& shared) {
  bool found = false;
  if (thread_id() == 0) {
    Entry entry;
    found = find_entry(session, step, batch, entry);
    shared = entry;
  }
  return __syncthreads_or(found) != 0;
}

__device__ inline uint64_t* keys_of_beam(const SessionView& session, const Entry& entry, int32_t m) {
  return workspace_of(session, entry.slot).keys + int64_t{m} * keys_of_row(session.beams, entry.live);
}

// Finds what a beam needs, with its row and children if it has a row; called by one thread, for the reason above.
template <int kThreads>
__device__ Feed feed_of_beam(const SessionView& session, const StepView& step, const Entry& entry, int32_t m,
                             RowShared<kThreads>& shared) {
  const int64_t state = session.states[beams_at(session, entry.slot) + m];
  if (is_ended(state)) return Feed::kEnded;
  if (!is_live(state)) return Feed::kNothing;
  BeamRow beam;
  if (!find_row(session, step, entry, m, beam, shared.lse)) return Feed::kNoRow;
  Children children = children_of_beam(session, entry, m);
  if (children.probes && session.strategy == SIDBEAM_STRATEGY_HASH_FINAL) {
    tokens_of_beam(history_of(session, entry.slot), entry.level, m, shared.prefix);
    children.prefix = shared.prefix;
  }
  shared.beam = beam;
  shared.children = children;
  shared.keys = keys_of_beam(session, entry, m);
  shared.most_keys = keys_of_row(session.beams, entry.live);
  return Feed::kRow;
}

// Whether this block is the last of its slot's blocks to arrive. If so, all of its threads see what the other blocks
// wrote: barriers order the threads of a block with its first thread, and fences order the first threads of all blocks.
// The last block resets the count to 0, when no other block will read it, so that a replay of a graph starts like the
// first run.
__device__ inline bool is_last(const SessionView& session, const Entry& entry) {
  __syncthreads();
  bool last = false;
  if (thread_id() == 0) {
    uint32_t* arrived = workspace_of(session, entry.slot).arrived;
    __threadfence();
    last = atomicAdd(arrived, 1U) == static_cast<uint32_t>(session.beams) - 1;
    if (last) *arrived = 0;
    __threadfence();
  }
  return __syncthreads_or(last) != 0;
}

// The number of a row's floats that are kept for the children.
inline int64_t held_columns(const SessionView& session, const StepView& step) {
  if (step.lse != nullptr) return 0;
  if (session.normalization == SIDBEAM_NORMALIZE_FULL) return step.columns <= kMostHeld ? step.columns : 0;
  return session.normalization == SIDBEAM_NORMALIZE_LEVEL ? std::min(step.columns, kMostHeld) : 0;
}

}  // namespace sidbeam::cuda
