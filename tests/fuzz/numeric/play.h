// Playing a request in one of the ways, beside others and in any layout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "request.h"
#include "subjects.h"

namespace fuzz::numeric {

// Circumstances that may not change the results.
struct Arrangement {
  size_t way = 0;
  int32_t strategy = SIDBEAM_STRATEGY_TRIE;
  int32_t slots = 1, slot = 0;  // of the session, and the request's own
  bool listed = false;          // the step names its slots
  bool mapped = false;          // rows are named by a map
  int64_t gap = 0;              // elements between rows
  bool backwards = false;       // strides are negative
  int64_t misalign = 0;         // elements before the first
  unsigned float_mode = 0;      // of the caller
};
Arrangement draw_arrangement(FuzzedDataProvider& input, const Request& request);

// The request's slot after its start and after each step.
std::vector<differential::Snapshot> play(const Request& request, const Arrangement& arrangement);

// The best codes of states, and the logits rows masked, by the stateless forms: codes, log-probabilities, states,
// elements.
std::vector<uint8_t> answer_states(const Request& request, const Arrangement& arrangement,
                                   const std::vector<sidbeam_state>& states);

}  // namespace fuzz::numeric
