// Deep levels: beams of one child each, of whose rows, apart from the normaliser, one element is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// Where the elements of code 0 are, for beams from some `first` on.
struct ChildRows {
  const void* data;    // of row 0
  int64_t stride;      // elements
  const int32_t* map;  // row of a beam; nullptr: its number
  const float* lse;    // by row; nullptr: all are 0
  const LogSum* sums;  // by beam, in place of lse: normalisers that were computed

  int64_t row(int32_t i) const { return map != nullptr ? map[i] : i; }
};

ChildRows child_rows(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first, const LogSum* sums);

// What the kernels follow the beams from `first` on by; false where 32-bit offsets do not reach all of it.
bool make_chain(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first, const ChildRows& rows,
                Chain& chain);

}  // namespace sidbeam::cpu
