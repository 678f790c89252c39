// Top-k and top-p of a row on the CPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/plan.h"
#include "backend/truncation.h"

namespace sidbeam::cpu {

// The part of a row that truncation keeps: where it ends, and the log of its mass.
struct Kept {
  RowOutcome outcome = RowOutcome::kReady;
  Boundary boundary;
  LogSum normalizer;
};

// Truncates what the plan normalises over: all columns, or the codes of the level and the end.
Kept truncate_row(const SlotPlan& plan, const void* row);

}  // namespace sidbeam::cpu
