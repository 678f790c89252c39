// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace shared_cases {

// Calls that the library refuses, on a session of the case, which does not change. They are recorded if a recorder
// lives; throws if a call is not refused.
void make_refusals(const differential::Machine& machine, const differential::World& world,
                   const std::vector<differential::Loaded>& loaded);

}  // namespace shared_cases
