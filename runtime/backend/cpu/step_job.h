// The input of a step on the CPU: the slots, their rows, and limits on the memory it may need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/level_columns.h"
#include "backend/rows.h"
#include "index/views.h"
#include "sidbeam/rows.h"

namespace sidbeam::cpu {

// One slot of a step. The beams of this level replace those of the level before. Arrays are [M].
struct SlotStep {
  const IndexView* index = nullptr;
  int32_t level = 0;  // the level being decided
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

// The sizes for which a stepper must have memory.
struct StepLimits {
  int32_t beams = 0, levels = 0, top_k = 0;
  uint32_t codes = 0;  // of the widest level of any constraint, without the end
};

}  // namespace sidbeam::cpu
