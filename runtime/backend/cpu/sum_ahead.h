// The normalisers of rows that are scanned together, ahead of their scan: the end of one row's sum is hidden behind the
// next one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/plan.h"
#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {

// Where plan.sums_ahead(): the normalisers of rows, of which the columns to be summed are still to be filled in.
// Returns the maxima that came with the first of them, those of others each maxima_room on; or nullptr.
const float* sum_ahead(const SlotPlan& plan, RowsToSum sums, RowWorkspace& workspace, LogSum* logs);

}  // namespace sidbeam::cpu
