// The end of a slot's step, by one block: selects the best of what the rows left and writes them, in order, as the new
// beams.
//
// Every key that a row left is a candidate, so that the width-th largest of them is a bound that the best `width`
// candidates reach. Further ones can only be in groups whose last key reaches it, too, of which few are to be expected;
// these are scanned again. So the selection is exact, and its memory is bounded however many candidates tie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/counters.h"
#include "backend/cuda/select.cuh"
#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {

// Rounds that a warp makes over a group's children between two checks of how full the workspace is.
inline constexpr int kRounds = 8;

// The codes of a prefix that have room in shared memory for every warp; those of longer ones are in global memory.
inline constexpr int kSharedPrefix = 64;

// A group that a warp scans, in shared memory as in RowShared.
struct OpenedGroup {
  BeamRow beam;
  Children children;
  uint32_t begin, end;  // its children
  uint64_t last;        // of its keys that are known
  int32_t prefix[kSharedPrefix];
};

// A candidate that has become beam i.
struct Winner {
  uint64_t key;
  uint32_t i;
  int32_t parent;  // as it is
  bool stays;      // it has ended before
  uint32_t code;   // unless it stays
};

// What candidates are ranked by and what their beams get: by score, as a search does. (perturb.cuh has the other way.)
struct ByScore {
  static constexpr uint32_t kMore = 0;  // candidates selected beyond the best `width`
  using Group = OpenedGroup;

  __device__ float rank(int32_t m) const { return session.scores[beams_at(session, entry.slot) + m]; }
  __device__ void open(int32_t /*m*/, Group& /*group*/) const {}
  __device__ uint64_t key(const Group& group, uint32_t i, bool& bad) const {
    return candidate_key(group.beam, group.children, i, bad);
  }
  __device__ void leave_out(uint64_t /*key*/) const {}
  __device__ void take(const Winner& winner) const {
    session.scores[beams_at(session, entry.slot) + winner.i] = score_of_key(winner.key);
  }
  __device__ void give(uint32_t /*i*/) const {}
  __device__ void clear(uint32_t i) const { session.scores[beams_at(session, entry.slot) + i] = -kInfinity; }

  const SessionView& session;
  const Entry& entry;
};

// Keys that are sorted: more than there are beams, so that a bound need not be the exact one; but no more than fit.
template <int kMostBeams>
inline constexpr uint32_t kSorted = kMostBeams < 512 ? 512 : kMostBeams;

template <int kThreads, int kMostBeams, class Rank>
struct FinishShared {
  uint64_t keys[kSorted<kMostBeams> + Rank::kMore];  // finally those of the candidates; then the new states
  SelectStorage select;
  uint32_t count, chosen, most_keys, total, worst_bad, worst_bad_lse, ended, worst;
  int32_t no_row;
  uint32_t counters[kCounters];
  typename Rank::Group groups[kThreads / kWarp];
};

template <int kThreads, int kMostBeams, class Rank>
class Finish {
  static_assert(kThreads * kRounds <= kMoreCandidates, "the workspace takes a round beside the best");

 public:
  __device__ Finish(const SessionView& session, const StepView& step, const Entry& entry, const Rank& rank,
                    FinishShared<kThreads, kMostBeams, Rank>& shared)
      : session_(session),
        step_(step),
        entry_(entry),
        rank_(rank),
        shared_(shared),
        work_(workspace_of(session, entry.slot)) {}

  __device__ void run() {
    read_notes();
    find_candidates();
    if (in_workspace_) {
      if (shared_.count > room()) {
        keep_best();
      } else {
        for (uint32_t i = own(); i < shared_.count; i += kThreads) shared_.keys[i] = work_.candidates[i];
      }
    }
    uint32_t count = std::min(shared_.count, room());
    if constexpr (Rank::kMore > 0)
      if (count > kSorted<kMostBeams>) count = without_last(count);
    write_beams(best_sorted(count));
  }

 private:
  __device__ static uint32_t own() { return static_cast<uint32_t>(thread_id()); }
  __device__ uint32_t candidates_wanted() const { return static_cast<uint32_t>(entry_.width) + Rank::kMore; }
  // The most candidates that are sorted: a power of two with some to spare, so that a bound is found in few rounds.
  __device__ uint32_t room() const {
    constexpr uint32_t kMost = kSorted<kMostBeams>;
    const uint32_t wanted = candidates_wanted(), spare = 1U << (32 - __clz(static_cast<int>(wanted + kWarp - 1)));
    return std::max(wanted, std::min(spare, kMost));
  }

  // Sums up the notes of the slot's rows.
  __device__ void read_notes() {
    if (thread_id() == 0) {
      shared_.count = shared_.chosen = shared_.most_keys = shared_.total = shared_.worst_bad = shared_.ended = 0;
      shared_.worst_bad_lse = 0;
      shared_.no_row = 0;
    }
    for (uint32_t i = own(); i < kCounters; i += kThreads) shared_.counters[i] = 0;
    __syncthreads();
    for (uint32_t m = own(); m < static_cast<uint32_t>(entry_.live); m += kThreads) {
      const Note note = work_.notes[m];
      if (note.read) atomicAdd(&shared_.counters[kRowsRead], 1U);
      if (note.found == RowFound::kNoRow) atomicExch(&shared_.no_row, 1);
      if (note.found == RowFound::kBad || note.found == RowFound::kBadLse) {
        uint32_t* const worst = note.found == RowFound::kBad ? &shared_.worst_bad : &shared_.worst_bad_lse;
        atomicMax(worst, ordered(rank_.rank(static_cast<int32_t>(m))));
        atomicAdd(&shared_.counters[kRowsBad], 1U);
      }
      if (note.found != RowFound::kCandidates) continue;
      if (note.read) {
        atomicAdd(&shared_.counters[kCandidates], note.count);
        atomicAdd(&shared_.counters[note.kind], 1U);
      }
      atomicAdd(&shared_.total, note.keys());
      atomicMax(&shared_.most_keys, std::min(note.keys(), keys_of_row(session_.beams, entry_.live)));
    }
    __syncthreads();
  }

  // Calls visit(key, i) for this thread's share of the keys of all rows that are not 0; i is as in key_at(). Several
  // loads are in flight. (It was a row per warp, each load after the one before, in steps that took up to ten times
  // their target on an H200; how much of that this was has not been measured.)
  template <class Visit>
  __device__ __forceinline__ void for_each_key(const Visit& visit) const {
    constexpr uint32_t kAtATime = 4, kApart = kThreads;
    const uint32_t end = static_cast<uint32_t>(entry_.live) << bits_of_row();
#pragma unroll 1
    for (uint32_t i = own(); i < end; i += kAtATime * kApart) {
      uint64_t keys[kAtATime];
#pragma unroll
      for (uint32_t j = 0; j < kAtATime; ++j) keys[j] = i + j * kApart < end ? key_at(i + j * kApart) : 0;
#pragma unroll
      for (uint32_t j = 0; j < kAtATime; ++j)
        if (keys[j] != 0) visit(keys[j], i + j * kApart);
    }
  }
  // Rows are numbered as if each had as many keys as the one with the most, or the next power of two.
  __device__ int bits_of_row() const {
    return shared_.most_keys > 1 ? 32 - __clz(static_cast<int>(shared_.most_keys - 1)) : 0;
  }
  __device__ uint64_t key_at(uint32_t i) const {
    const uint32_t m = i >> bits_of_row(), k = i & ((1U << bits_of_row()) - 1);
    const Note& note = work_.notes[m];
    if (note.found != RowFound::kCandidates || k >= note.keys()) return 0;
    return work_.keys[m * keys_of_row(session_.beams, entry_.live) + k];
  }

  // Puts the candidates into shared memory if all of them are known at once, otherwise into the workspace.
  __device__ void find_candidates() {
    const uint32_t wanted = candidates_wanted();
    uint64_t bound = 1;
    if (shared_.total > wanted)
      bound =
          select_bound<kThreads>([&](const auto& visit) { for_each_key([&](uint64_t key, uint32_t) { visit(key); }); },
                                 wanted, room(), shared_.select);
    for_each_key([&](uint64_t key, uint32_t i) {
      if (key < bound) return;
      const uint32_t at = atomicAdd(&shared_.count, 1U);
      if (at < room()) shared_.keys[at] = key;
      if (i % kKeysOfGroup == kKeysOfGroup - 1) choose_group(i);
    });
    __syncthreads();
    in_workspace_ = shared_.chosen > 0;
    if (!in_workspace_) return;
    const uint32_t known = std::min(shared_.count, room());
    for (uint32_t i = own(); i < known; i += kThreads) work_.candidates[i] = shared_.keys[i];
    __syncthreads();
    open_groups(bound);
  }

  // Key i is the last of a group, unless it is one of all keys of its row.
  __device__ void choose_group(uint32_t i) {
    const uint32_t m = i >> bits_of_row(), group = (i & ((1U << bits_of_row()) - 1)) / kKeysOfGroup;
    if (work_.notes[m].single()) return;
    const uint32_t at = atomicAdd(&shared_.chosen, 1U);
    // At most an eighth of the keys that reach the bound. The beam takes 12 bits of a place; a row has at most 2^15
    // groups of several children.
    if (at < most_chosen()) work_.chosen[at] = m << kNumberBits | group;
  }
  __device__ uint32_t most_chosen() const { return static_cast<uint32_t>(session_.beams + kMoreChosen); }

  // Scans the chosen groups, one per warp, and collects the candidates that reach the bound and are not known. If the
  // workspace could overflow, it is cut back to the best, which raises the bound.
  __device__ void open_groups(uint64_t bound) {
    const auto capacity = static_cast<uint32_t>(work_.candidate_capacity);
    const uint32_t chosen = std::min(shared_.chosen, most_chosen());
    uint32_t next = own() / kWarp;
    Share group;
    if (next < chosen) group = open(next);
    for (;;) {
      for (int round = 0; round < kRounds && next < chosen; ++round) {
        const uint32_t i = group.at + own() % kWarp;
        const auto& opened = shared_.groups[warp_id()];
        bool bad = false;
        const uint64_t key = i < group.end ? rank_.key(opened, i, bad) : 0;
        if (key >= bound && key < opened.last) {
          const uint32_t at = atomicAdd(&shared_.count, 1U);
          if (at < capacity) work_.candidates[at] = key;
        }
        group.at += kWarp;
        if (group.at < group.end) continue;
        next += kThreads / kWarp;
        if (next < chosen) group = open(next);
      }
      if (!__syncthreads_or(next < chosen)) break;
      const uint32_t count = shared_.count;
      __syncthreads();  // before any thread adds to it
      if (count + kThreads * kRounds <= capacity) continue;
      bound = keep_best();
      for (uint32_t i = own(); i < std::min(shared_.count, room()); i += kThreads)
        work_.candidates[i] = shared_.keys[i];
      __syncthreads();
    }
  }

  // The children [at, end) of a group that are to be scanned.
  struct Share {
    uint32_t at = 0, end = 0;
  };
  // Opens a chosen group for a warp. One lane reads for all, as in find_slot(): others could read what another block
  // has written meanwhile, and leave the loop above at another time.
  __device__ Share open(uint32_t chosen) {
    typename Rank::Group& out = shared_.groups[warp_id()];
    __syncwarp();  // all lanes are done with the previous group
    if (lane_id() == 0) fill(work_.chosen[chosen], out);
    __syncwarp();
    return {out.begin, out.end};
  }
  __device__ void fill(uint32_t chosen, typename Rank::Group& out) const {
    const auto m = static_cast<int32_t>(chosen >> kNumberBits);
    const Note note = work_.notes[m];
    const float* lse = nullptr;
    BeamRow beam;
    find_row(session_, step_, entry_, m, beam, lse);
    beam.reads_row = true;  // its elements have been checked
    beam.score.normalizer = note.normalizer;
    beam.score.clamp = note.clamp;
    Children children = children_of_beam(session_, entry_, m);
    children.least = note.least;
    if (children.probes && session_.strategy == SIDBEAM_STRATEGY_HASH_FINAL) {
      int32_t* const prefix = entry_.level <= kSharedPrefix ? out.prefix : prefix_of_warp();
      tokens_of_beam(history_of(session_, entry_.slot), entry_.level, m, prefix);
      children.prefix = prefix;
    }
    out.beam = beam;
    out.children = children;
    const uint64_t* keys = work_.keys + int64_t{m} * keys_of_row(session_.beams, entry_.live);
    out.last = keys[(number_of(chosen) + 1) * kKeysOfGroup - 1];
    out.begin = note.begin(number_of(chosen));
    // If the slot was named twice, it may have advanced since the note was made.
    out.end = std::min(note.begin(number_of(chosen) + 1), children.count);
    rank_.open(m, out);
  }

  __device__ int32_t* prefix_of_warp() const {
    static_assert(kThreads / kWarp <= kMostOpened);
    return session_.prefixes + (int64_t{entry_.slot} * kMostOpened + warp_id()) * session_.levels;
  }

  // Puts the best of the workspace's candidates, at least as many as are wanted and as many as there is room for, into
  // shared memory; returns a bound that they reach.
  __device__ uint64_t keep_best() {
    const uint32_t count = std::min(shared_.count, static_cast<uint32_t>(work_.candidate_capacity)), most = room();
    const auto keys = [&](const auto& visit) {
      for (uint32_t i = own(); i < count; i += kThreads) visit(work_.candidates[i]);
    };
    const uint64_t bound = select_bound<kThreads>(keys, candidates_wanted(), most, shared_.select);
    __syncthreads();
    if (thread_id() == 0) {
      shared_.count = 0;
      ++shared_.counters[kShrinks];
    }
    __syncthreads();
    keys([&](uint64_t key) {
      if (key < bound) return;
      const uint32_t at = atomicAdd(&shared_.count, 1U);
      if (at < most) shared_.keys[at] = key;
    });
    __syncthreads();
    return bound;
  }

  // Takes the last of `count` keys out, of which one more are wanted than can be sorted; returns how many are left.
  __device__ uint32_t without_last(uint32_t count) {
    __syncthreads();
    KeyRange range;
    for (uint32_t i = own(); i < count; i += kThreads) range.add(shared_.keys[i]);
    const uint64_t last = range_of_block<kThreads>(range, shared_.select).least;
    for (uint32_t i = own(); i + 1 < count; i += kThreads)
      if (shared_.keys[i] == last) shared_.keys[i] = shared_.keys[count - 1];
    if (thread_id() == 0) rank_.leave_out(last);
    __syncthreads();
    return count - 1;
  }

  // Sorts the keys in shared memory; returns how many of them are beams.
  __device__ uint32_t best_sorted(uint32_t count) {
    const auto width = static_cast<uint32_t>(entry_.width);
    int padded = 2 * kWarp;
    while (padded < static_cast<int>(count)) padded *= 2;
    for (uint32_t i = count + own(); i < static_cast<uint32_t>(padded); i += kThreads) shared_.keys[i] = 0;
    __syncthreads();
    sort_falling<kThreads>(shared_.keys, padded);
    if (count <= width) return count;
    if (thread_id() == 0) rank_.leave_out(shared_.keys[width]);
    return width;
  }

  // Returns the state after a candidate, and writes what no other beam needs any more.
  __device__ BeamState write_beam(uint32_t i, uint64_t key) {
    const uint32_t place = place_of_key(key);
    const int bits = entry_.number_bits;
    // As it is, unless the slot was named twice.
    const int32_t parent = std::min(beam_of(place, bits), session_.beams - 1);
    const uint32_t number = number_of(place, bits);
    const int64_t first = beams_at(session_, entry_.slot), before = session_.states[first + parent];
    BeamState next{before, 0};
    int32_t token = -1;
    uint32_t code = 0;
    if (!is_ended(before)) {
      const Children children = children_of_beam(session_, entry_, parent);
      if (number < children.count) children.at_number(number, code);
      next = children.next(number, code);
      token = static_cast<int32_t>(code);
    } else if (uses_columns(session_.strategy)) {
      next.range_end = session_.range_ends[first + parent];
    }
    const int64_t history = history_at(session_, entry_.slot) + int64_t{entry_.level} * session_.beams;
    rank_.take({key, i, parent, token < 0, code});
    session_.parents[first + i] = session_.history_parents[history + i] = parent;
    session_.tokens[first + i] = session_.history_tokens[history + i] = token;
    return next;
  }

  // All old states are read before any is overwritten, so the new ones wait in shared memory and in the workspace.
  __device__ void write_beams(uint32_t count) {
    if (thread_id() == 0) shared_.worst = count > 0 ? static_cast<uint32_t>(shared_.keys[count - 1] >> 32) : 0;
    __syncthreads();
    for (uint32_t i = own(); i < count; i += kThreads) {
      const BeamState next = write_beam(i, shared_.keys[i]);
      shared_.keys[i] = static_cast<uint64_t>(next.state);
      work_.candidates[i] = next.range_end;
      if (is_ended(next.state)) atomicAdd(&shared_.ended, 1U);
    }
    __syncthreads();
    const int64_t first = beams_at(session_, entry_.slot);
    for (uint32_t i = own(); i < static_cast<uint32_t>(session_.beams); i += kThreads) {
      const bool lives = i < count;
      session_.states[first + i] = lives ? static_cast<int64_t>(shared_.keys[i]) : kDeadState;
      if (uses_columns(session_.strategy)) session_.range_ends[first + i] = lives ? work_.candidates[i] : 0;
      if (lives) {
        rank_.give(i);
        continue;
      }
      rank_.clear(i);
      session_.parents[first + i] = session_.tokens[first + i] = -1;
    }
    if (thread_id() == 0) write_slot(static_cast<int32_t>(count));
  }

  __device__ void write_slot(int32_t count) {
    const int32_t slot = entry_.slot;
    const auto mattered = [&](uint32_t bad) {
      return bad != 0 && bad_row_matters(unordered(bad), unordered(shared_.worst), count, entry_.width);
    };
    int32_t errors = session_.errors[slot];
    if (mattered(shared_.worst_bad)) errors |= SIDBEAM_SLOT_BAD_ROW;
    if (mattered(shared_.worst_bad_lse)) errors |= SIDBEAM_SLOT_BAD_LSE;
    if (shared_.no_row != 0) errors |= SIDBEAM_SLOT_BAD_MAP;
    session_.errors[slot] = errors;
    session_.live[slot] = count;
    session_.active[slot] = active_after(*entry_.index, entry_.level, count, static_cast<int32_t>(shared_.ended));
    session_.level[slot] = entry_.level + 1;
    shared_.counters[kSlotSteps] = 1;
    shared_.counters[kDeadBeams] = static_cast<uint32_t>(entry_.width - count);
    for (int i = 0; i < kCounters; ++i)
      if (shared_.counters[i] != 0) add_to_counter(session_, i, shared_.counters[i]);
  }

  const SessionView& session_;
  const StepView& step_;
  const Entry& entry_;
  const Rank rank_;
  FinishShared<kThreads, kMostBeams, Rank>& shared_;
  Workspace work_;
  bool in_workspace_ = false;
};

}  // namespace sidbeam::cuda
