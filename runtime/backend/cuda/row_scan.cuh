// One beam's row, by one block: its normaliser, and the best of each group of its children.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/log_sum_exp.cuh"
#include "backend/cuda/select.cuh"
#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {

// The most columns whose x are kept for the children.
inline constexpr int64_t kMostHeld = 8192;

template <int kThreads>
struct RowShared {
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
__device__ PartialSum sum_columns(BeamRow& beam, int64_t first, int64_t count, int64_t room,
                                  RowShared<kThreads>& shared) {
  LogitsRow part = beam.row;
  part.data = static_cast<const char*>(part.data) + first * element_bytes(part.dtype);
  part.columns = count;
  float* held = count <= room ? shared.held : nullptr;
  const PartialSum sum = block_sum_exp<kThreads>(
      count, [&](float origin) { return sum_row<kThreads>(relative(part, origin), origin == 0.0F ? held : nullptr); },
      shared.fold);
  if (held != nullptr) {  // complete, since folding has a barrier
    beam.held = held;
    beam.held_first = first;
    beam.held_count = count;
  }
  return sum;
}

// The sum over x(i), i < n, where x(i) is -inf if there is no child i. Except for the last bit in double, the sum does
// not depend on how children are numbered, so that strategies which number the same children differently agree.
template <int kThreads, class X>
__device__ PartialSum sum_values(uint32_t n, const X& x, RowShared<kThreads>& shared) {
  return block_sum_exp<kThreads>(
      0,
      [&](float origin) {
        Terms terms;
        for (uint32_t i = static_cast<uint32_t>(thread_id()); i < n; i += kThreads) terms.add_alone(x(i) - origin);
        return terms;
      },
      shared.fold);
}

template <int kThreads>
SIDBEAM_APART __device__ PartialSum sum_level(BeamRow& beam, const Children& children, int64_t room,
                                              RowShared<kThreads>& shared) {
  const uint32_t codes = children.codes;
  const PartialSum sum = beam.columns.map == nullptr
                             ? sum_columns<kThreads>(beam, beam.columns.offset, codes, room, shared)
                             : sum_values<kThreads>(
                                   codes, [&](uint32_t i) { return beam.x(i, codes); }, shared);
  if (!children.ends) return sum;
  Terms end;
  const float x = beam.x(codes, codes);
  end.add_alone(x);
  if (!is_far(end)) return merge(sum, partial_sum(end, 1, 0.0F));
  return merge(sum, {x, 0, 1.0});
}

template <int kThreads>
SIDBEAM_APART __device__ RowOutcome normalize(const SessionView& session, BeamRow& beam, const Children& children,
                                              const float* lse, int64_t room, RowShared<kThreads>& shared) {
  if (!sums_rows(session.normalization, lse != nullptr)) return use_given(lse, beam.score);
  const PartialSum sum = session.normalization == SIDBEAM_NORMALIZE_FULL
                             ? sum_columns<kThreads>(beam, 0, beam.row.columns, room, shared)
                             : sum_level<kThreads>(beam, children, room, shared);
  return use_sum(sum, beam.score);
}

// Finds the best top_k codes, for the strategies that look up only those. False if the row has a bad element.
template <int kThreads>
SIDBEAM_APART __device__ bool find_best_codes(int32_t top_k, const BeamRow& beam, Children& children,
                                              RowShared<kThreads>& shared) {
  const auto keys = [&](const auto& visit) {
    for (uint32_t i = static_cast<uint32_t>(thread_id()); i < children.count; i += kThreads)
      visit(code_key(beam.x(i, children.codes), i));
  };
  bool bad = false;
  uint32_t count = 0;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < children.count; i += kThreads) {
    const float x = beam.x(i, children.codes);
    bad = bad || !(x < kInfinity);
    count += x > -kInfinity ? 1 : 0;
  }
  if (__syncthreads_or(bad)) return false;
  for (int i = thread_id(); i < kBins; i += kThreads) shared.select.bins[i] = 0;
  __syncthreads();
  atomicAdd(&shared.select.bins[0], count);
  __syncthreads();
  const uint32_t all = shared.select.bins[0];
  __syncthreads();
  children.least = all <= static_cast<uint32_t>(top_k)
                       ? 1
                       : select_bound<kThreads>(keys, static_cast<uint32_t>(top_k), shared.select);
  return true;
}

// NORMALIZE_VALID: the sum over the children themselves.
template <int kThreads>
SIDBEAM_APART __device__ RowOutcome normalize_children(BeamRow& beam, const Children& children,
                                                       RowShared<kThreads>& shared) {
  const auto x = [&](uint32_t i) {
    uint32_t token = 0;
    if (!children.at_number(i, token)) return -kInfinity;
    const float value = beam.x(token, children.codes);
    if (children.probes && (code_key(value, token) < children.least || !children.exists(token))) return -kInfinity;
    return value;
  };
  return use_sum(sum_values<kThreads>(children.count, x, shared), beam.score);
}

// Writes the keys of the row's groups; returns whether a child makes the row bad.
template <int kThreads>
SIDBEAM_APART __device__ bool write_keys(const BeamRow& beam, const Children& children, const Note& note,
                                         uint64_t* keys) {
  bool bad = false;
  if (note.single()) {
    for (uint32_t i = static_cast<uint32_t>(thread_id()); i < note.count; i += kThreads)
      keys[i] = candidate_key(beam, children, i, bad);
  } else {
    for (uint32_t g = static_cast<uint32_t>(warp_id()); g < note.groups; g += kThreads / kWarp) {
      uint64_t best = 0;
      const uint32_t end = note.begin(g + 1);
      for (uint32_t i = note.begin(g) + static_cast<uint32_t>(lane_id()); i < end; i += kWarp) {
        const uint64_t key = candidate_key(beam, children, i, bad);
        best = key > best ? key : best;
      }
      best = warp_max(best);
      if (lane_id() == 0) keys[g] = best;
    }
  }
  return __syncthreads_or(bad) != 0;
}

// Scans a row whose beam and children are known, and records the findings in the note.
template <int kThreads>
__device__ __forceinline__ Note scan_row(const SessionView& session, BeamRow& beam, Children& children,
                                         const float* lse, int64_t room, uint32_t most_keys, uint64_t* keys,
                                         RowShared<kThreads>& shared) {
  Note note;
  note.read = true;
  RowOutcome outcome = normalize<kThreads>(session, beam, children, lse, room, shared);
  if (outcome == RowOutcome::kReady && children.probes &&
      !find_best_codes<kThreads>(session.top_k, beam, children, shared))
    outcome = RowOutcome::kBad;
  if (outcome == RowOutcome::kReady && lse == nullptr && session.normalization == SIDBEAM_NORMALIZE_VALID) {
    outcome = normalize_children<kThreads>(beam, children, shared);
    beam.reads_row = true;
  }
  if (outcome != RowOutcome::kReady) {
    note.found = outcome == RowOutcome::kBad      ? RowFound::kBad
                 : outcome == RowOutcome::kBadLse ? RowFound::kBadLse
                                                  : RowFound::kNothing;
    return note;
  }
  note.normalizer = beam.score.normalizer;
  note.clamp = beam.score.clamp;
  note.least = children.least;
  note.kind = kind_of(children);
  note.count = children.count;
  note.groups = groups_of(children.count, most_keys);
  note.found = write_keys<kThreads>(beam, children, note, keys) ? RowFound::kBad : RowFound::kCandidates;
  return note;
}

}  // namespace sidbeam::cuda
