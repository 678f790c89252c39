// The checks of sidbeam_sampling, for the starts of sessions and for stateless calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "sidbeam/sampling.h"

namespace sidbeam {

// What a call may give, and what its entries are.
struct SamplingCall {
  int32_t mode = SIDBEAM_MODE_SAMPLE;
  int32_t rows = 1;    // most draws of an entry: M, or 1 where each entry is a logits row
  int64_t count = 0;   // entries
  int32_t most_k = 0;  // top-k must be 1 .. most_k; 0: it may be anything
};

// Throws unless the arrays that the mode needs are given, and no others. The host can read all of them.
void check_sampling(const SamplingCall& call, const sidbeam_sampling& sampling);
// Entry i, checked; `width` draws of it are used.
SlotSampling sampling_of(const SamplingCall& call, const sidbeam_sampling& sampling, int64_t i, int32_t width);

}  // namespace sidbeam
