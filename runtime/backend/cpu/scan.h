// Turns the rows of a slot's beams into candidates, by the path in the slot's plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/lane.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// Scans the beams of a piece, in the order of their numbers, into piece.found.
void scan_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane);

}  // namespace sidbeam::cpu
