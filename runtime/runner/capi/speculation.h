// What a runner's config says about speculation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/capi/service.h"
#include "runner/schedule/tree_rows.h"

namespace sidbeam::runner {

// Throws for settings that do not fit the others of the config. Without a draft there must be none, and N is 0.
Drafting drafting_of(const sidbeam_runner_config& config);
// Throws for a draft that the service's model cannot work with, and for a catalogue that it cannot draw from.
void check_draft(const Service& service);
// Throws where the trees of a batch have more rows or places than can be counted.
void check_trees(const TreeSize& size, int64_t requests);
// A lane for the service's two models, `limits` being those of the target without trees.
std::unique_ptr<Lane> make_draft_lane(const Allocator& allocator, const Service& service, const LaneConfig& config,
                                      ForwardLimits limits, const Workers& workers);

}  // namespace sidbeam::runner
