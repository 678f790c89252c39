// Deep levels, where beams have one child each. Apart from the normaliser, only one element of such a beam's row is
// read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// The elements of code 0 in the rows of beams, counted from some `first` beam on.
struct ChildRows {
  const void* data;    // of row 0
  int64_t stride;      // elements
  const int32_t* map;  // row of each beam; nullptr: beam i has row i
  const float* lse;    // per row; nullptr: all are 0
  const LogSum* sums;  // per beam, instead of lse: computed normalisers

  int64_t row(int32_t i) const { return map != nullptr ? map[i] : i; }
};

ChildRows child_rows(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first, const LogSum* sums);

// Fills in what the kernels need to follow the beams from `first` on. False if 32-bit offsets do not reach all of it.
bool make_chain(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first, const ChildRows& rows,
                Chain& chain);

}  // namespace sidbeam::cpu
