// What a step on the CPU is given: the slots, their rows, and the memory that it may need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/level_columns.h"
#include "backend/rows.h"
#include "index/views.h"
#include "sidbeam/rows.h"

namespace sidbeam::cpu {

// One slot of a step: the beams of the level before, replaced by those of this level. Arrays are [M].
struct SlotStep {
  const IndexView* index = nullptr;
  int32_t level = 0;  // that is decided now
  int32_t width = 0;
  int64_t slot = 0;   // of the session
  int64_t batch = 0;  // which rows are its own
  RowSettings settings;
  int32_t rows = 0;  // the stepper's: how many of them there are to scan
  int64_t* states = nullptr;
  uint64_t* range_ends = nullptr;  // sorted strategies: the end of a beam's ordinals
  float* scores = nullptr;
  int32_t *parents = nullptr, *tokens = nullptr;
  int32_t *history_parents = nullptr, *history_tokens = nullptr;  // [L, M] by level, which the step adds to
  int32_t *live = nullptr, *active = nullptr, *error = nullptr;   // one each
};

struct StepJob {
  SlotStep* slots = nullptr;
  int64_t slot_count = 0;
  int32_t beams = 0;  // M
  int32_t strategy = 0, top_k = 0;
  bool may_skip = false;  // log-probs never exceed 0
  int32_t normalization = 0;
  const LevelColumns* columns = nullptr;  // [L]
  const sidbeam_rows* rows = nullptr;     // strides resolved
  const int32_t* row_map = nullptr;
  const float* lse = nullptr;
};

// What a stepper must be able to hold.
struct StepLimits {
  int32_t beams = 0, levels = 0, top_k = 0;
  uint32_t codes = 0;  // widest level of any constraint, the end not counted
};

}  // namespace sidbeam::cpu
