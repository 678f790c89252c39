// Places of SessionView::counters: the fields of StepCounters, in their order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam::cuda {

enum Counter : uint8_t {
  kSteps,
  kSlotSteps,
  kRowsRead,
  kRowsSkipped,
  kRowsBad,
  kCandidates,
  kDeadBeams,
  kShrinks,
  kListRows,
  kDenseRows,
  kUnconstrainedRows,
  kProbedRows,
  kSingleRows,
  kSplitSlots
};

}  // namespace sidbeam::cuda
