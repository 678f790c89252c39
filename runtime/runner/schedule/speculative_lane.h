// A lane with two models: a draft writes levels ahead, and the target checks them in one pass (sidbeam/speculate.h). On
// CUDA both are on one device and stream, and so are the sessions; the host waits for their beams after every level,
// from which it makes the trees' rows, so that what is cancelled ends at its next round there as well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/lane.h"
#include "runner/schedule/tree_rows.h"

namespace sidbeam::runner {

struct LaneModels {
  std::unique_ptr<TreeForward> target, draft;  // the draft on the target's stream
};

// How a draft is used, as config of sidbeam_runner_create() says.
struct Drafting {
  int32_t beams = 0;  // N, at least those of the lane; a request that has fewer drafts as many fewer
  bool relaxed = false, without_replacement = false;
};

// As make_lane(). Both forward passes have been made for trees of that size (TreeSize), and for config.output. Relaxed
// ones give logits that are the host's.
std::unique_ptr<Lane> make_speculative_lane(const Allocator& allocator, const LaneConfig& config,
                                            const Drafting& drafting, LaneModels models);

}  // namespace sidbeam::runner
