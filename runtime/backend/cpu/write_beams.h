// Writes the result of a step: parents, tokens, scores and states of a slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/found.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// Finishes the selection and replaces the slot's beams by its candidates; returns their number. `states` and
// `range_ends` [M] are scratch memory for new values while the old ones are still read.
int32_t write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, int64_t* states,
                    uint64_t* range_ends);

}  // namespace sidbeam::cpu
