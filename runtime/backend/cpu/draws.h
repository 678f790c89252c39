// A step of independent draws: the rows of a slot, each of which draws one code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/lane.h"

namespace sidbeam::cpu {

// The rows of a slot that a step reads: one per draw, or only that of beam 0 if the slot has just started.
inline int32_t rows_of_draws(const SlotStep& slot) { return slot.fresh ? 1 : slot.width; }

// Draws for the rows of a piece, and writes them over their beams.
void draw_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane);
// What a slot's draws amount to, once all of its pieces are drawn. Returns the number of live ones.
int32_t finish_draws(const StepJob& job, const SlotStep& slot);

}  // namespace sidbeam::cpu
