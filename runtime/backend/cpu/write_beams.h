// Writing what a step chose: parents, tokens, scores and states of a slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/found.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// Finishes the selection and replaces the slot's beams by what it holds; returns how many. `states` and `range_ends`
// [M] are scratch: the new ones are made while the old ones are read.
int32_t write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, int64_t* states,
                    uint64_t* range_ends);

}  // namespace sidbeam::cpu
