// A session's arrays in a device's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/marks.h"
#include "backend/cuda/rules.h"

namespace sidbeam {

struct DeviceSessionHandle {
  DeviceHandle* device = nullptr;
  cuda::DeviceMemory memory;
  cuda::PinnedMemory mirror;  // of the first mirror.bytes() of the memory: what sidbeam_beams shows
  cuda::SessionView view;
  int32_t mode = 0;             // SIDBEAM_MODE_*
  cuda::SamplingView sampling;  // of the modes that sample
  cuda::SlotRules rules;
  cuda::Marks marks;      // of all work of the session's calls
  bool fetched = false;   // some of it writes the mirror
  bool overlaps = false;  // kernels of a step; see launch_step()
  uint32_t turn = 0;      // of starts; see launch_start()
  // Addresses of the last step, or list of children, that were found to be in the device's memory; loops pass the same
  // ones again.
  const void *slots = nullptr, *rows = nullptr, *row_map = nullptr, *lse = nullptr, *inverse_temperatures = nullptr,
             *soft_caps = nullptr, *offsets = nullptr, *children = nullptr;
};

}  // namespace sidbeam
