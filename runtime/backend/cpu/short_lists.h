// Beams of a few children each, of whose rows nothing else is read: scanned many at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/group.h"

namespace sidbeam::cpu {

// Whether a plan's beams may be scanned so: children come from nodes, and scores need no more of a row than those.
inline bool takes_short_lists(const SlotPlan& plan) {
  return plan.path == Path::kNodes && plan.columns.map == nullptr && !is_added(plan, 0) &&
         (plan.normalizer == Normalizer::kChildren || plan.normalizer == Normalizer::kGiven);
}

// Scans the beams from first + i on, whose nodes' rows have been found, up to one that has many children, has ended or
// may be skipped; returns their number.
int32_t take_short_lists(const Group& group, int32_t i);

}  // namespace sidbeam::cpu
