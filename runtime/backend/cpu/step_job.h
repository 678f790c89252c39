// The input of a step on the CPU: the slots, their rows, and limits on the memory it may need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/level_columns.h"
#include "backend/rows.h"
#include "backend/score.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "sidbeam/rows.h"

namespace sidbeam::cpu {

// What a step of stochastic beams keeps of a row until it knows the winners: of a child, the rest follows from its x.
struct PerturbedRow {
  RowScore score;
  float log_mass = 0.0F;  // of the beams behind it
  float earliest = 0.0F;
};

// What stochastic beams have besides; arrays are [M].
struct StochasticBeams {
  float *perturbed = nullptr, *log_inclusions = nullptr, *arrivals = nullptr;
  uint64_t* hashes = nullptr;
  PerturbedRow* rows = nullptr;  // of the step that is under way
  float* threshold = nullptr;    // one
};

// One slot of a step. The beams of this level replace those of the level before. Arrays are [M].
struct SlotStep {
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;  // nullptr: every item is allowed
  int32_t level = 0;                 // the level being decided
  int32_t width = 0;
  int64_t slot = 0;   // its number in the session
  int64_t batch = 0;  // index of its rows in the batch
  RowSettings settings;
  int32_t rows = 0;  // set by the stepper: the number of rows to scan
  int64_t* states = nullptr;
  uint64_t* range_ends = nullptr;  // sorted strategies: the end of a beam's ordinals
  float* scores = nullptr;
  int32_t *parents = nullptr, *tokens = nullptr;
  int32_t *history_parents = nullptr, *history_tokens = nullptr;  // [L, M]; the step adds a level
  int32_t *live = nullptr, *active = nullptr, *error = nullptr;   // one each
  SlotSampling sampling;                                          // of the modes that sample
  bool fresh = false;                                             // no step since the start: all read row 0
  float* log_masses = nullptr;                                    // [M] of the modes that sample
  StochasticBeams stochastic;                                     // of mode STOCHASTIC
};

struct StepJob {
  SlotStep* slots = nullptr;
  int64_t slot_count = 0;
  int32_t beams = 0;  // M
  int32_t strategy = 0, top_k = 0, mode = 0;
  bool may_skip = false;  // log-probs never exceed 0
  int32_t normalization = 0;
  const LevelColumns* columns = nullptr;  // [L]
  const sidbeam_rows* rows = nullptr;     // strides resolved
  const int32_t* row_map = nullptr;
  const int64_t* child_offsets = nullptr;  // the row holds children alone, those of beam m from [batch * M + m] on
  const float* lse = nullptr;
};

// The sizes for which a stepper must have memory.
struct StepLimits {
  int32_t beams = 0, levels = 0, top_k = 0;
  uint32_t codes = 0;  // of the widest level of any constraint, without the end
  bool draws = false;  // a mode that samples
};

}  // namespace sidbeam::cpu
