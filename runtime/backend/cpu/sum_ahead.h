// The normalisers of rows that are scanned together, ahead of their scan: what ends a row's sum is hidden behind the next
// one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {

inline constexpr int32_t kMostTogether = kMostSummed;

// Rows of so many columns whose maxima are kept at a time.
int32_t rows_with_maxima(int64_t columns);

// How many rows are summed, and their beams' children looked up, before the first of them is scanned.
int32_t rows_together(const SlotScan& slot, const RowWorkspace& workspace);

// Where sums_ahead: the normalisers of rows, of which the columns to be summed are still to be filled in. Returns the maxima
// that came with the first of them, those of others each maxima_room on; or nullptr.
const float* sum_ahead(const SlotScan& slot, RowsToSum sums, RowWorkspace& workspace, LogSum* logs);

}  // namespace sidbeam::cpu
