// What starting and stopping share: what becomes of a slot's arrays, and starts that wait for others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "backend/cuda/session.cuh"
#include "index/rules/ruled_state.h"

namespace sidbeam::cuda {

inline constexpr int kStartThreads = 128;

__device__ inline void clear_beams(const SessionView& session, int32_t slot) {
  const int64_t first = beams_at(session, slot);
  for (int32_t m = thread_id(); m < session.beams; m += kStartThreads) {
    session.states[first + m] = kDeadState;
    session.parents[first + m] = session.tokens[first + m] = -1;
    session.scores[first + m] = -kInfinity;
    if (session.range_ends != nullptr) session.range_ends[first + m] = 0;
  }
  __syncthreads();  // before thread 0 writes the first beam
}

// What travels with an entry: the codes of its prefix, then its widths per level, if it has any, two to a word.
inline constexpr int kEntryWords = kMaxLevels + (kMaxLevels + 1) / 2;
SIDBEAM_HD inline int32_t words_of(const StartEntry& entry) {
  return entry.prefix_length + (entry.width_levels + 1) / 2;
}

__device__ inline int32_t width_at(const StartEntry& entry, const int32_t* words, int32_t level) {
  if (entry.width_levels == 0) return entry.width;
  const int32_t l = std::min(level, entry.width_levels - 1), pair = words[entry.prefix_length + l / 2];
  return (l % 2 == 0 ? pair : pair >> 16) & 0xFFFF;
}

__device__ inline void start_slot(const SessionView& session, const StartEntry& entry, const int32_t* words) {
  const int32_t slot = entry.slot, length = entry.prefix_length;
  const int32_t* const prefix = words;
  clear_beams(session, slot);
  for (int32_t l = thread_id(); l < session.levels; l += kStartThreads)
    session.widths[int64_t{slot} * session.levels + l] = width_at(entry, words, l);
  if (thread_id() != 0) return;
  const int64_t first = beams_at(session, slot), history = history_at(session, slot);
  for (int32_t l = 0; l < length; ++l) {
    session.history_parents[history + int64_t{l} * session.beams] = 0;
    session.history_tokens[history + int64_t{l} * session.beams] = prefix[l];
  }
  const BeamState begin = beginning_of(session.strategy, *entry.index, prefix, length);
  const bool lives = is_live(begin.state) && allows_state(*entry.index, entry.rules, decode_state(begin.state));
  if (lives) {
    session.states[first] = begin.state;
    session.scores[first] = 0.0F;
    if (session.range_ends != nullptr) session.range_ends[first] = begin.range_end;
  }
  *workspace_of(session, slot).arrived = 0;  // a step that named the slot twice may have left a count
  session.table[slot] = {entry.index, entry.settings, entry.rules};
  session.live[slot] = lives ? 1 : 0;
  session.active[slot] = lives && length < entry.index->levels ? 1 : 0;
  session.level[slot] = length;
  session.errors[slot] = 0;
}

__device__ inline void stop_slot(const SessionView& session, int32_t slot) {
  clear_beams(session, slot);
  if (thread_id() != 0) return;
  session.table[slot] = {};
  session.live[slot] = session.active[slot] = 0;
  session.level[slot] = -1;
  session.errors[slot] = 0;
}

inline constexpr int kStops = 512;
struct StopBatch {
  int32_t slots[kStops];
};

// Calls stop(shape, batch) for as many batches as the slots need.
template <class Stop>
cudaError_t launch_stops(const int32_t* slots, int64_t count, const Stop& stop) {
  for (int64_t i = 0; i < count; i += kStops) {
    StopBatch batch{};
    const int64_t taken = std::min<int64_t>(kStops, count - i);
    std::copy_n(slots + i, taken, batch.slots);
    const cudaError_t error = stop(LaunchShape{taken, kStartThreads}, batch);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// If one launch cannot take all slots, several launches store entries, and the last one starts all slots at once. If a
// launch fails, it leaves only entries of this turn, which no other turn reads, and no slot has started without the
// host's knowledge.
struct Waiting {
  StartEntry entry;
  int32_t words[kEntryWords];
};
static_assert(sizeof(Waiting) <= kMoreCandidates * sizeof(uint64_t));
__device__ inline Waiting& waiting_of(const Workspace& work) { return *reinterpret_cast<Waiting*>(work.candidates); }

// Stores entries until a launch of the same turn starts them.
cudaError_t launch_waits(const SessionView& session, const StartList& starts, uint32_t turn, cudaStream_t stream);

}  // namespace sidbeam::cuda
