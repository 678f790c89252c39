// What both kernels of a step need to know about a slot, and what the first leaves for the second.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/children.cuh"
#include "backend/cuda/counters.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/rows.cuh"
#include "backend/score.h"
#include "support/cuda/launch.h"

namespace sidbeam::cuda {

// An entry of the list of slots to be stepped.
struct Entry {
  int64_t batch = 0;  // index of the slot's rows in the batch
  int32_t slot = 0, level = 0, width = 0, live = 0;
  int32_t number_bits = kNumberBits;  // of places
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;
  Transform transform;
};

// A captured graph cannot refuse an invalid value. Instead such a value makes every x NaN, so that all rows are bad.
__device__ inline Transform transform_of(const StepView& step, const Slot& slot, int64_t batch) {
  const RowSettings own{
      step.inverse_temperatures != nullptr ? step.inverse_temperatures[batch] : step.settings.inverse_temperature,
      step.soft_caps != nullptr ? step.soft_caps[batch] : step.settings.soft_cap};
  RowSettings settings = first_given(own, slot.settings);
  if (!(settings.inverse_temperature > 0.0F && settings.inverse_temperature < kInfinity && settings.soft_cap >= 0.0F))
    settings.inverse_temperature = std::numeric_limits<float>::quiet_NaN();
  return {settings.inverse_temperature, settings.soft_cap, 0.0F,
          settings.inverse_temperature != 1.0F || settings.soft_cap != 0.0F};
}

// Entries of -1 in a step's list, and launches that warm a kernel up, name no slot.
__device__ inline bool has_slot(const SessionView& session, int64_t slot) { return slot >= 0 && slot < session.slots; }

// False if there is nothing to step. Values that a captured graph cannot check are clamped.
__device__ inline bool find_entry(const SessionView& session, const StepView& step, int64_t batch, Entry& entry) {
  const int64_t slot = step.slots != nullptr ? step.slots[batch] : batch;
  if (!has_slot(session, slot)) return false;
  const Slot held = session.table[slot];
  entry.batch = batch;
  entry.slot = static_cast<int32_t>(slot);
  entry.level = session.level[slot];
  entry.live = std::min(session.live[slot], session.beams);
  entry.index = held.index;
  entry.rules = held.rules;
  entry.transform = transform_of(step, held, batch);
  if (held.index == nullptr || entry.level < 0 || entry.level >= held.index->levels || entry.level >= session.levels ||
      session.active[slot] <= 0)
    return false;
  entry.width = std::min(session.widths[slot * session.levels + entry.level], session.beams);
  entry.number_bits = number_bits(symbols_at(*held.index, entry.level));
  return true;
}

__device__ inline void add_to_counter(const SessionView& session, int counter, uint64_t by) {
  atomicAdd(reinterpret_cast<unsigned long long*>(session.counters) + counter, static_cast<unsigned long long>(by));
}

// Offsets of a slot in the session's arrays.
__device__ inline int64_t beams_at(const SessionView& session, int32_t slot) { return int64_t{slot} * session.beams; }
__device__ inline int64_t history_at(const SessionView& session, int32_t slot) {
  return beams_at(session, slot) * session.levels;
}
__device__ inline History history_of(const SessionView& session, int32_t slot) {
  const int64_t at = history_at(session, slot);
  return {session.history_parents + at, session.history_tokens + at, session.beams};
}

// What was found in a beam's row. Its keys are those of all children, if there is room, otherwise the best kKeysOfGroup
// of each of a power of two of groups: of children [g * count / groups, (g + 1) * count / groups) those from g *
// kKeysOfGroup on, falling. What of a group is not there has a key below its last. (With one key a
// group, its best, a step's end had to look into as many groups as there are beams, each through serial loads.)
inline constexpr uint32_t kKeysOfGroup = 8;
enum class RowFound : int32_t { kNothing, kCandidates, kBad, kBadLse, kNoRow };
struct Note {
  LogSum normalizer;
  uint64_t least = 0;              // of Children
  uint32_t count = 0, groups = 0;  // as many groups as children: each is a key
  RowFound found = RowFound::kNothing;
  Counter kind = kListRows;  // how the children were found
  bool clamp = false, read = false;

  __device__ bool single() const { return groups == count; }
  __device__ uint32_t keys() const { return single() ? count : groups * kKeysOfGroup; }
  __device__ uint32_t begin(uint32_t group) const {
    return single() ? group : static_cast<uint32_t>(uint64_t{group} * count >> (31 - __clz(static_cast<int>(groups))));
  }
};
static_assert(sizeof(Note) == 32);  // the end of a step reads one per beam

// Workspace of a slot: notes [M], keys of rows, keys of candidates, chosen groups [M + kMoreChosen]; the number of its
// blocks that have finished their rows, for a step in one launch; and the turn of a waiting start, which shares the
// memory of the candidates.
inline constexpr int64_t kKeysOfBeam = 64, kMoreChosen = 16;
#if defined(SIDBEAM_EMULATED)
inline constexpr int64_t kCandidatesOfBeam = 2, kMoreCandidates = 4096;  // so that small tests cut back too
#else
inline constexpr int64_t kCandidatesOfBeam = 32, kMoreCandidates = 8192;
#endif
struct Workspace {
  Note* notes;
  uint64_t *keys, *candidates;
  uint32_t *chosen, *arrived, *turn;
  int64_t candidate_capacity;
};
SIDBEAM_HD inline int64_t candidate_capacity(int64_t beams) { return kCandidatesOfBeam * beams + kMoreCandidates; }
SIDBEAM_HD inline int64_t slot_workspace_bytes(int64_t beams) {
  const int64_t bytes = beams * static_cast<int64_t>(sizeof(Note) + kKeysOfBeam * sizeof(uint64_t) + sizeof(uint32_t)) +
                        candidate_capacity(beams) * static_cast<int64_t>(sizeof(uint64_t)) +
                        (kMoreChosen + 2) * static_cast<int64_t>(sizeof(uint32_t));
  return (bytes + 255) / 256 * 256;
}
__device__ inline Workspace workspace_of(const SessionView& session, int32_t slot) {
  const int64_t beams = session.beams;
  char* at = static_cast<char*>(session.workspace) + slot * slot_workspace_bytes(beams);
  Workspace work;
  work.notes = reinterpret_cast<Note*>(at);
  work.keys = reinterpret_cast<uint64_t*>(work.notes + beams);
  work.candidates = work.keys + beams * kKeysOfBeam;
  work.candidate_capacity = candidate_capacity(beams);
  work.chosen = reinterpret_cast<uint32_t*>(work.candidates + work.candidate_capacity);
  work.arrived = work.chosen + beams + kMoreChosen;
  work.turn = work.arrived + 1;
  return work;
}

// The number of keys that a row may leave: a power of two, larger when there are fewer rows.
__device__ inline uint32_t keys_of_row(int32_t beams, int32_t live) {
  const auto all = static_cast<uint32_t>(beams * kKeysOfBeam), share = all / static_cast<uint32_t>(live > 0 ? live : 1);
  return 1U << (31 - __clz(static_cast<int>(share)));
}
// The number of groups of n children. If there is room, each child is its own group. Otherwise a group has about a warp
// of children or more, and there are enough groups to keep every warp busy.
__device__ inline uint32_t groups_of(uint32_t n, uint32_t keys) {
  if (n <= keys) return n;
  const uint32_t groups = 1U << (31 - __clz(static_cast<int>(n / kWarp | 8))), most = keys / kKeysOfGroup;
  return groups < most ? groups : most;
}

// A beam's row, with what is needed to score its children.
struct BeamRow {
  LogitsRow row;
  LevelColumns columns;
  const float* held = nullptr;  // x of columns [held_first, held_first + held_count), in shared memory
  int64_t held_first = 0, held_count = 0;
  RowScore score;
  bool reads_row = false;  // the normaliser has read every element, so no child's is bad

  __device__ int64_t column_of(uint32_t token, uint32_t codes) const {
    return token == codes ? columns.end_column : columns.column(token);
  }
  __device__ float x_of_column(int64_t column) const {
    if (column < 0) return -kInfinity;  // no candidate, and adds nothing to a sum
    const int64_t at = column - held_first;
    return at >= 0 && at < held_count ? held[at] : x_at(row, column);
  }
  __device__ float x(uint32_t token, uint32_t codes) const { return x_of_column(column_of(token, codes)); }
};

// The key of a code for ranking a row's best, for strategies that look up only those. -0 counts as 0; -inf has no key.
__device__ inline uint64_t code_key(float x, uint32_t token) { return x > -kInfinity ? key_of(x + 0.0F, token) : 0; }

// The key of child i, 0 if it is no candidate. Sets `bad` if it makes its row bad.
__device__ inline uint64_t candidate_key(const BeamRow& beam, const Children& children, uint32_t i, bool& bad) {
  uint32_t token = 0;
  if (!children.at_number(i, token)) return 0;
  const float x = beam.x(token, children.codes);
  if (children.probes && (code_key(x, token) < children.least || !children.exists(token))) return 0;
  if (!beam.reads_row && is_bad_value(beam.score, x)) {
    bad = true;
    return 0;
  }
  const float score = score_of_one(beam.score, x);
  return score > -kInfinity ? key_of(score, beam.score.place_base | i) : 0;
}

// Finds the row of a beam that must be fed; false if it has none.
__device__ inline bool find_row(const SessionView& session, const StepView& step, const Entry& entry, int32_t m,
                                BeamRow& out, const float*& lse) {
  const bool mapped = step.row_map != nullptr;
  const int64_t row = mapped ? step.row_map[entry.batch * session.beams + m] : m;
  if (row < 0 || row >= step.rows) return false;
  out.columns = session.columns[entry.level];
  if (out.columns.needed(entry.index->level[entry.level].codes, entry.index->variable_length) > step.columns)
    return false;
  const RowPlace place = place_of_row(mapped, entry.batch, row, step.rows, step.slot_stride, step.row_stride);
  out.row.data = static_cast<const char*>(step.data) + place.offset * element_bytes(step.dtype);
  out.row.columns = step.columns;
  out.row.dtype = step.dtype;
  out.row.transform = entry.transform;
  lse = step.lse != nullptr ? step.lse + place.number : nullptr;
  out.reads_row = sums_rows(session.normalization, lse != nullptr);
  const int64_t at = beams_at(session, entry.slot) + m;
  out.score.score = session.scores[at];
  out.score.place_base = place_of(m, 0, entry.number_bits);
  return true;
}

__device__ inline Children children_of_beam(const SessionView& session, const Entry& entry, int32_t m) {
  const int64_t at = beams_at(session, entry.slot) + m;
  return children_of(*entry.index, entry.rules, session.strategy, entry.level, session.columns[entry.level],
                     session.states[at], uses_columns(session.strategy) ? session.range_ends[at] : 0);
}

}  // namespace sidbeam::cuda
