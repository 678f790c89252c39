// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace shared_cases {

// Sessions that sample, and DISC over their draws. They are recorded if a recorder lives; throws if a session and the
// stateless form draw differently. That either draws as it should is tested in tests/sampling.
void make_draws(const differential::Machine& machine, const differential::World& world,
                const std::vector<differential::Loaded>& loaded, differential::Coverage* coverage);
// The stateless draw, recorded in the same way.
void make_samples(const differential::Machine& machine, const differential::World& world,
                  const std::vector<differential::Loaded>& loaded);

}  // namespace shared_cases
