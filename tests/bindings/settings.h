// Temperatures and soft-caps per slot, logits rows that are shared, one prefix for all, and bad log-sum-exps, which the
// differential test's cases do not draw together. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace shared_cases {

struct SettingsCase {
  const differential::Machine& machine;
  const differential::World& world;
  const differential::Loaded& loaded;
};

// The calls that are recorded, with settings by list. The return is every beam that came, step after step.
std::vector<differential::Snapshot> run_with_lists(const SettingsCase& c);
// The same search with each slot stepped alone, with scalars, and its own logits rows and prefix; never recorded.
std::vector<differential::Snapshot> run_alone(const SettingsCase& c);

}  // namespace shared_cases
