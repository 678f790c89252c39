// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace shared_cases {

// Calls that the library refuses, on a session of the case, which is as it was after each. Recorded by whoever records;
// throws where one is not refused.
void make_refusals(const differential::Machine& machine, const differential::World& world,
                   const std::vector<differential::Loaded>& loaded);

}  // namespace shared_cases
