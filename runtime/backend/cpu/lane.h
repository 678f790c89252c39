// The working memory of a thread during a step, and the parts of slots that it has scanned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "backend/backend.h"
#include "backend/beams.h"
#include "backend/cpu/found.h"
#include "backend/cpu/row_scan.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// The best score among beams with bad rows, per kind of fault; NaN for none.
struct BestBad {
  float row = std::numeric_limits<float>::quiet_NaN(), lse = std::numeric_limits<float>::quiet_NaN();
};

// Raises a best score, which is NaN if there is none yet.
inline void raise(float& best, float score) {
  if (!(best >= score) && !std::isnan(score)) best = score;
}

// Beams [begin, end) of a slot and what was found in them.
struct Piece {
  const SlotStep* slot = nullptr;
  int32_t begin = 0, end = 0;
  Found* found = nullptr;
  BestBad best_bad;
};

// A stochastic beam, apart from what the next step finds anew.
struct StochasticBeam {
  float score = -std::numeric_limits<float>::infinity(), log_mass = -std::numeric_limits<float>::infinity();
  float arrival = 0.0F;
  uint64_t hash = 0;
  BeamState state;
};

// Working memory of a thread, on cache lines (which processors fetch in pairs) that no other thread writes.
struct alignas(128) Lane {
  RowWorkspace workspace;
  Found found;                  // of slots that no other lane shares
  Found shared[2];              // of slots shared with the previous and the next lane; only if there are several lanes
  Buffer<int64_t> states;       // [M] of the beams being written
  Buffer<uint64_t> range_ends;  // [M]
  Buffer<int32_t> prefix;       // [levels]
  Buffer<StochasticBeam> before;  // [M] of the slot that is written, in the modes that sample
  Piece pieces[2];                // of shared slots, of this step
  int32_t piece_count = 0;
  LogSum logs[kMostTogether];     // of the rows scanned next
  const float* maxima = nullptr;  // of the first of them
  StepCounters counters;

  Lane() = default;
  Lane(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits, bool shares);
  int64_t memory_bytes() const;
};

}  // namespace sidbeam::cpu
