// A row that is drawn from, by one block: normalised, truncated and weighed; for sessions and for sets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/draw.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/truncation.cuh"

namespace sidbeam::cuda {

// The children of a row, as many draws may use them.
struct ListedRow {
  RowScore score;  // its normaliser; the rest would be in registers meanwhile
  Weights weights;
  float log_mass;
};

// In shared memory, as in RowShared: what is the same for all threads.
template <int kThreads>
struct DrawShared {
  Sampling how;
  Kept kept;
  ListedRow listed;
  union {
    TruncationShared<kThreads> truncation;
    ChoiceShared<kThreads> choice;
  };
  RowShared<kThreads> row;  // last: the launch adds to its end
};

struct Drawn {
  uint32_t child = 0, code = 0;
  float log_prob = 0.0F;
};

// x of child i, -inf if it is none that truncation keeps.
template <int kThreads>
__device__ __forceinline__ float x_of_child(const DrawShared<kThreads>& shared, uint32_t i) {
  const Children& children = shared.row.children;
  uint32_t token = 0;
  if (!children.at_number(i, token)) return -kInfinity;
  const float x = shared.row.beam.x(token, children.codes);
  if (!shared.kept.keeps(shared.row.beam, children.codes, token, x)) return -kInfinity;
  return !children.probes || (code_key(x, token) >= children.least && children.exists(token)) ? x : -kInfinity;
}

// Finds the normaliser of the row and what truncation keeps of it. For NORMALIZE_VALID the weights of the children will
// be the normaliser, unless the row is truncated.
template <int kThreads>
__device__ __forceinline__ RowOutcome normalize_draw(int32_t normalization, int32_t top_k, int64_t room,
                                                     DrawShared<kThreads>& shared, RowScore& score) {
  RowShared<kThreads>& row = shared.row;
  if (!shared.how.truncation.any()) {
    if (normalization == SIDBEAM_NORMALIZE_VALID) normalization = SIDBEAM_NORMALIZE_NONE;
    return normalize<kThreads>(normalization, top_k, room, row, score);
  }
  // What is looked up one by one is what truncation keeps, no more codes than `top_k` where their columns differ.
  return truncate_row<kThreads>(shared.how.truncation, normalization, room, row, shared.truncation, score, shared.kept);
}

// Lists and weighs the row of shared.row. No draw from it lives unless the outcome is kReady. The normaliser of
// NORMALIZE_VALID, and that of a truncated row, are made of the weights, so they have the bits that the CPU gives them.
template <int kThreads>
__device__ __forceinline__ RowOutcome list_row(int32_t normalization, int32_t top_k, int64_t room,
                                               DrawShared<kThreads>& shared) {
  RowScore score = shared.row.beam.score;
  if (thread_id() == 0) shared.kept = {};
  RowOutcome outcome = normalize_draw<kThreads>(normalization, top_k, room, shared, score);
  if (outcome != RowOutcome::kReady) return outcome;
  __syncthreads();  // before the choice takes the memory of the truncation
  if (thread_id() == 0) {
    shared.listed.score.normalizer = score.normalizer;
    shared.listed.score.clamp = score.clamp;
  }
  const uint32_t count = shared.row.children.count;
  const auto x = [&](uint32_t i) { return x_of_child(shared, i); };
  const float largest = largest_of<kThreads>(count, x, shared.choice.fold);
  outcome = outcome_of_largest(largest);
  if (outcome != RowOutcome::kReady) return outcome;
  const Children& children = shared.row.children;
  const int bits = weight_bits(symbols_at(*children.index, children.level));
  const Weights weights = weigh<kThreads>(count, {largest, bits}, x, shared.choice);
  if (thread_id() == 0) {
    const LogSum valid = log_of_weights(weights.total, largest, bits);
    ListedRow& listed = shared.listed;
    if (normalization == SIDBEAM_NORMALIZE_VALID && shared.row.lse == nullptr && shared.kept.all) {
      listed.score.normalizer = valid;
      listed.score.clamp = true;
    }
    listed.weights = weights;
    listed.log_mass = log_mass_of(listed.score, valid);
  }
  __syncthreads();
  return outcome;
}

// The child that 64 random bits choose of a listed row.
template <int kThreads>
__device__ __forceinline__ Drawn draw_child(uint64_t bits, const DrawShared<kThreads>& shared) {
  const Children& children = shared.row.children;
  Drawn drawn;
  drawn.child =
      choose(shared.listed.weights, bits, shared.choice.through, [&](uint32_t i) { return x_of_child(shared, i); });
  children.at_number(drawn.child, drawn.code);
  drawn.log_prob = log_prob_of(shared.listed.score, shared.row.beam.x(drawn.code, children.codes));
  return drawn;
}

// The number of a row's floats that are kept in shared memory. Which rows are truncated is known on the device alone.
inline int64_t room_of_draws(int32_t normalization, int64_t columns) {
  if (normalization == SIDBEAM_NORMALIZE_LEVEL) return std::min(columns, kMostHeld);
  return columns <= kMostHeld ? columns : 0;
}

}  // namespace sidbeam::cuda
