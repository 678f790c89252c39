// Beam search with the core alone, as a host does it that has a model of its own: for each request it feeds the logits
// of every live beam to a session, level by level, and takes the SIDs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.h"
#include "transitions.h"

namespace recommend {

constexpr int32_t kSlots = 8;  // requests of a batch

struct Search {
  std::vector<Answer> answers;  // [queries]
  double step_us = 0;           // median time of a step of a batch
};

// Answers the first `queries` of data.test. `strategy` is SIDBEAM_STRATEGY_TRIE or _NONE.
Search search(const Transitions& model, Smoothing smoothing, const Catalogue& catalogue, int32_t strategy,
              int32_t beams, size_t queries, Seen seen = Seen::kShown);

}  // namespace recommend
