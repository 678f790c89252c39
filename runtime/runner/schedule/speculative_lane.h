// A lane of the CPU with two models: a draft writes levels ahead, and the target checks them in one pass
// (sidbeam/speculate.h). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/lane.h"
#include "runner/schedule/tree_rows.h"

namespace sidbeam::runner {

struct LaneModels {
  std::unique_ptr<TreeForward> target, draft;
};

// As make_lane(). The draft searches with so many beams, at least config.beams; a request that has fewer drafts as many
// fewer. Both forward passes have been made for trees of that size (TreeSize), and for config.output.
std::unique_ptr<Lane> make_speculative_lane(const Allocator& allocator, const LaneConfig& config, int32_t draft_beams,
                                            LaneModels models);

}  // namespace sidbeam::runner
