// Computes the normalisers of rows that are scanned together before their scan, so that the end of one row's sum
// overlaps with the next row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/plan.h"
#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {

// Requires plan.sums_ahead(). Computes the normalisers of `sums`, whose columns it fills in first. Returns the maxima
// of the first row, with those of each further row maxima_room later; or nullptr.
const float* sum_ahead(const SlotPlan& plan, RowsToSum sums, RowWorkspace& workspace, LogSum* logs);

}  // namespace sidbeam::cpu
