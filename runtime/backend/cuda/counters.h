// Places of SessionView::counters. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sidbeam::cuda {

enum Counter : int { kSteps, kSlotSteps, kRowsRead, kRowsBad, kCandidates, kDeadBeams, kShrinks };

}  // namespace sidbeam::cuda
