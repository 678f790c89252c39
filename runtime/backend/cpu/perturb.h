// A step of stochastic beams: like a search, by perturbed scores (backend/noise.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/lane.h"

namespace sidbeam::cpu {

// Appends the candidates of a piece's rows, one more of which is kept than there are beams.
void perturb_piece(const Kernels& kernels, const StepJob& job, Piece& piece, Lane& lane);
// Replaces a slot's beams by the best of its candidates. Returns their number.
int32_t write_perturbed(const Kernels& kernels, const StepJob& job, const SlotStep& slot, Found& found, Lane& lane);

}  // namespace sidbeam::cpu
