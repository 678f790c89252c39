// The index of a case and the rules on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case.h"

namespace speculation {

// SIDs, item i under SID i, and what the rules make of each item; no rules: none.
struct Items {
  const std::vector<Prefix>& sids;
  const std::vector<Rule>& rules;
  int32_t levels;
};
handles::Constraint constrain(const World& world, const Case& c, const Items& items);

}  // namespace speculation
