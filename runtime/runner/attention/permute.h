// Moving the unshared KV of beams to where their descendants look for it, in place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam::runner {

// Rows of all levels of a request: [depth, beams], `row_bytes` each.
struct BeamRows {
  char* data;
  int64_t row_bytes;
  int32_t beams;  // at most SIDBEAM_MAX_BEAMS
  int32_t depth;
};

// Gives beam m, at every level, the row that beam parents[m] had; -1: any. Returns the number of rows that it copied.
int64_t permute_rows(const BeamRows& rows, const int32_t* parents);

}  // namespace sidbeam::runner
