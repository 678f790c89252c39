// One beam's row, by one block: its normaliser, and the best of its children.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/log_sum_exp.cuh"
#include "backend/cuda/select.cuh"
#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {

// All rows get the same number of threads, because the bits of a sum depend on it. So a row gives the same bits in any
// step, and in topk.
inline constexpr int kRowThreads = 256;

// The most columns whose x are kept for the children.
inline constexpr int64_t kMostHeld = 8192;

// What a beam gives a step: nothing, since it is dead; itself, since it has ended; an error, since it has no row; or
// the best of its row.
enum class Feed : int32_t { kNothing, kEnded, kNoRow, kRow };

// A row's beam and children are the same for all threads, so they are in shared memory, written by the first thread: in
// every thread's registers they would leave room for fewer blocks.
template <int kThreads>
struct RowShared {
  int32_t m;  // the beam's number
  Feed feed;
  BeamRow beam;
  Children children;
  const float* lse;    // the row's, if it was given
  uint64_t* keys;      // [most_keys] that the row leaves, on the device
  uint32_t most_keys;  // a power of two, or as many as there can be children
  typename BlockFold<Terms, kThreads>::Storage fold;
  SelectStorage select;
  int32_t prefix[kMaxLevels];
  alignas(16) float held[4];  // the launch sets the real size
};

__device__ inline RowOutcome use_sum(const PartialSum& sum, RowScore& score) {
  score.normalizer = log_of(sum);
  return use_computed(score);
}

__device__ inline LogitsRow relative(LogitsRow row, float origin) {
  row.transform.origin = origin;
  row.transform.active = row.transform.active || origin != 0.0F;
  return row;
}

// The sum over contiguous columns. Keeps their x if there is room.
template <int kThreads>
__device__ __forceinline__ PartialSum sum_columns(int64_t first, int64_t count, int64_t room,
                                                  RowShared<kThreads>& shared) {
  LogitsRow part = shared.beam.row;
  part.data = static_cast<const char*>(part.data) + first * element_bytes(part.dtype);
  part.columns = count;
  float* held = count <= room ? shared.held : nullptr;
  const PartialSum sum = block_sum_exp<kThreads>(
      count, [&](float origin) { return sum_row<kThreads>(relative(part, origin), origin == 0.0F ? held : nullptr); },
      shared.fold);
  if (held != nullptr && thread_id() == 0) {
    shared.beam.held = held;
    shared.beam.held_first = first;
    shared.beam.held_count = count;
  }
  __syncthreads();
  return sum;
}

// The sum over x(i), i < n, where x(i) is -inf if there is no child i. Except for the last bit in double, the sum does
// not depend on how children are numbered, so that strategies which number the same children differently agree.
template <int kThreads, class X>
__device__ __forceinline__ PartialSum sum_values(uint32_t n, const X& x, RowShared<kThreads>& shared) {
  return block_sum_exp<kThreads>(
      0,
      [&](float origin) {
        Terms terms;
        for (uint32_t i = static_cast<uint32_t>(thread_id()); i < n; i += kThreads) terms.add_alone(x(i) - origin);
        return terms;
      },
      shared.fold);
}

// Where the terms of a row's normaliser are: in contiguous columns, or at children (of the level, or of the beam).
enum class SumOver : int32_t { kNothing, kColumns, kCodes, kChildren };
__device__ inline SumOver sum_over(int32_t normalization, bool has_lse, const BeamRow& beam) {
  if (has_lse || normalization == SIDBEAM_NORMALIZE_NONE) return SumOver::kNothing;
  if (normalization == SIDBEAM_NORMALIZE_VALID) return SumOver::kChildren;
  return normalization == SIDBEAM_NORMALIZE_LEVEL && beam.columns.map != nullptr ? SumOver::kCodes : SumOver::kColumns;
}

// Adds the end of a level, which lies apart from its codes.
__device__ inline PartialSum with_end(const PartialSum& sum, const BeamRow& beam, const Children& children) {
  if (!children.ends) return sum;
  Terms end;
  const float x = beam.x(children.codes, children.codes);
  end.add_alone(x);
  if (!is_far(end)) return merge(sum, partial_sum(end, 1, 0.0F));
  return merge(sum, {x, 0, 1.0});
}

// Finds the best top_k codes, for the strategies that look up only those. False if the row has a bad element.
template <int kThreads>
__device__ __forceinline__ bool find_best_codes(int32_t top_k, RowShared<kThreads>& shared) {
  const BeamRow& beam = shared.beam;
  const uint32_t count = shared.children.count, codes = shared.children.codes;
  const auto keys = [&](const auto& visit) {
    for (uint32_t i = static_cast<uint32_t>(thread_id()); i < count; i += kThreads)
      visit(code_key(beam.x(i, codes), i));
  };
  bool bad = false;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < count; i += kThreads)
    bad = bad || !(beam.x(i, codes) < kInfinity);
  if (__syncthreads_or(bad)) return false;
  const auto wanted = static_cast<uint32_t>(top_k);
  const uint64_t least = select_bound<kThreads>(keys, wanted, wanted, shared.select);
  __syncthreads();
  if (thread_id() == 0) shared.children.least = least;
  __syncthreads();
  return true;
}

// The x of child i as a term of a normaliser.
__device__ inline float term_of(SumOver over, const BeamRow& beam, const Children& children, uint32_t i) {
  uint32_t token = i;
  if (over == SumOver::kChildren && !children.at_number(i, token)) return -kInfinity;
  const float x = beam.x(token, children.codes);
  const bool looked_up = over == SumOver::kChildren && children.probes;
  if (looked_up && (code_key(x, token) < children.least || !children.exists(token))) return -kInfinity;
  return x;
}

// Finds the normaliser of a row and, for the strategies that look up only the best codes, those.
template <int kThreads>
__device__ __forceinline__ RowOutcome normalize(int32_t normalization, int32_t top_k, int64_t room,
                                                RowShared<kThreads>& shared, RowScore& score) {
  const BeamRow& beam = shared.beam;
  const Children& children = shared.children;
  const SumOver over = sum_over(normalization, shared.lse != nullptr, beam);
  RowOutcome outcome = RowOutcome::kReady;
  if (over == SumOver::kNothing) outcome = use_given(shared.lse, score);
  if (over == SumOver::kColumns) {
    const bool full = normalization == SIDBEAM_NORMALIZE_FULL;
    const PartialSum sum =
        sum_columns<kThreads>(full ? 0 : beam.columns.offset, full ? beam.row.columns : children.codes, room, shared);
    outcome = use_sum(full ? sum : with_end(sum, beam, children), score);
  }
  if (outcome != RowOutcome::kReady) return outcome;
  if (children.probes && !find_best_codes<kThreads>(top_k, shared)) return RowOutcome::kBad;
  if (over != SumOver::kCodes && over != SumOver::kChildren) return outcome;
  const PartialSum sum = sum_values<kThreads>(
      over == SumOver::kCodes ? children.codes : children.count,
      [&](uint32_t i) { return term_of(over, beam, children, i); }, shared);
  return use_sum(over == SumOver::kCodes ? with_end(sum, beam, children) : sum, score);
}

// The best kKeysOfGroup keys that a warp has met, falling, one a lane; 0 where there are none, and in other lanes.
struct BestOfWarp {
  uint64_t own = 0, least = 0;  // this lane's; the last of the best

  // Takes each lane's key.
  __device__ __forceinline__ void add(uint64_t key) {
    for (unsigned better = __ballot_sync(kAllLanes, key > least); better != 0; better &= better - 1) {
      const uint64_t next = __shfl_sync(kAllLanes, key, __ffs(static_cast<int>(better)) - 1);
      if (next <= least) continue;  // raised meanwhile
      const uint64_t before = __shfl_up_sync(kAllLanes, own, 1);
      if (next > own) own = lane_id() == 0 || before >= next ? next : before;
      least = __shfl_sync(kAllLanes, own, kKeysOfGroup - 1);
    }
  }
};

// Writes the keys that a row leaves, by warps: of all children, or of each group its best ones, falling. Returns
// whether a child makes the row bad. key_of_child(i, bad) is as candidate_key().
template <int kThreads, class Key>
__device__ __forceinline__ bool write_keys(const Note& note, const Key& key_of_child, uint64_t* keys) {
  const bool single = note.single();
  const auto lane = static_cast<uint32_t>(lane_id());
  const uint32_t units = single ? (note.count + kWarp - 1) / kWarp : note.groups;
  bool bad = false;
  for (uint32_t u = static_cast<uint32_t>(warp_id()); u < units; u += kThreads / kWarp) {
    const uint32_t begin = single ? u * kWarp : note.begin(u);
    const uint32_t end = single ? std::min(begin + kWarp, note.count) : note.begin(u + 1);
    BestOfWarp best;
    uint64_t key = 0;
    for (uint32_t first = begin; first < end; first += kWarp) {
      key = first + lane < end ? key_of_child(first + lane, bad) : 0;
      if (!single) best.add(key);
    }
    if (single) {
      if (begin + lane < end) keys[begin + lane] = key;
    } else if (lane < kKeysOfGroup) {
      keys[u * kKeysOfGroup + lane] = best.own;
    }
  }
  return __syncthreads_or(bad) != 0;
}

__device__ inline RowFound found_by(RowOutcome outcome) {
  return outcome == RowOutcome::kBad      ? RowFound::kBad
         : outcome == RowOutcome::kBadLse ? RowFound::kBadLse
         : outcome == RowOutcome::kReady  ? RowFound::kCandidates
                                          : RowFound::kNothing;
}

// Scans the row of shared.beam, whose children are shared.children, and returns the findings.
template <int kThreads>
__device__ __forceinline__ Note scan_row(int32_t normalization, int32_t top_k, int64_t room,
                                         RowShared<kThreads>& shared) {
  Note note;
  note.read = true;
  RowScore score = shared.beam.score;
  const RowOutcome outcome = normalize<kThreads>(normalization, top_k, room, shared, score);
  note.found = found_by(outcome);
  if (outcome != RowOutcome::kReady) return note;
  __syncthreads();  // all threads have read the score as it was
  if (thread_id() == 0) {
    shared.beam.score = score;
    if (shared.lse == nullptr && normalization == SIDBEAM_NORMALIZE_VALID) shared.beam.reads_row = true;
  }
  __syncthreads();
  note.count = shared.children.count;
  note.groups = groups_of(note.count, shared.most_keys);
  const auto key = [&](uint32_t i, bool& bad) { return candidate_key(shared.beam, shared.children, i, bad); };
  note.found = write_keys<kThreads>(note, key, shared.keys) ? RowFound::kBad : RowFound::kCandidates;
  note.normalizer = shared.beam.score.normalizer;
  note.clamp = shared.beam.score.clamp;
  note.least = shared.children.least;
  note.kind = kind_of(shared.children);
  return note;
}

}  // namespace sidbeam::cuda
