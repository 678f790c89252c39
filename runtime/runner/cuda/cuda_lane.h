// A lane on a CUDA device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_forward.h"
#include "runner/schedule/lane.h"

namespace sidbeam::runner {

// As make_lane(). Its stream is the forward pass's: all levels are enqueued on it, and the host waits once, for the
// results, so that other lanes' host work runs beside the device. Hence a request that is cancelled after its batch was
// enqueued runs to its end, which nobody sees.
std::unique_ptr<Lane> make_cuda_lane(const Allocator& allocator, const LaneConfig& config,
                                     std::unique_ptr<CudaForward> forward);

}  // namespace sidbeam::runner
