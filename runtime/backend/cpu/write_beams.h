// Writing what a step chose: parents, tokens, scores and states of a slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "backend/cpu/selection.h"

namespace sidbeam::cpu {

// Replaces the slot's beams by the `count` best of the selection. `only_next` [M] are the states after the only children
// of beams, kDeadState for the others; with another strategy than the trie it may be nullptr. `states` and `range_ends` [M] are scratch: the new ones
// are made while the old ones are read.
void write_beams(const Kernels& kernels, const StepJob& job, const SlotStep& slot, const Selection& selection,
                 int32_t count, const int64_t* only_next, int64_t* states, uint64_t* range_ends);

}  // namespace sidbeam::cpu
