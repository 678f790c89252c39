// Places of SessionView::counters: the int64 fields of sidbeam_stats from `steps` on.
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
  kMemoryBytes,  // the host's
  kSingleRows,
  kSplitSlots
};

}  // namespace sidbeam::cuda
