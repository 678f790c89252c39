// A draft head's weights on a CUDA device. This side needs no CUDA. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_model.h"
#include "runner/cuda/draft_interface.h"
#include "runner/draft/head.h"

namespace sidbeam::runner {

struct CudaDraftHead {
  // Throws NO_DEVICE, OUT_OF_MEMORY.
  CudaDraftHead(const DraftHead& head, int32_t device_id);

  DeviceArrays arrays;
  std::vector<DeviceDraftLevel> levels;
};

// The head's weights on a device: uploaded at the first call for it, and then shared as long as the head lives. Any
// thread.
const CudaDraftHead& cuda_draft_head(const DraftHead& head, int32_t device_id);

// What the plugin needs for so many requests and beams, with the weights there. The head must outlive it.
DeviceDraftConfig device_draft_config(const DraftHead& head, int32_t device_id, int32_t requests, int32_t beams);

}  // namespace sidbeam::runner
