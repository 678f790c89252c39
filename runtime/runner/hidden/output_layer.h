// The weights of an output layer, read where the host has them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runner/math/matrix.h"
#include "sidbeam/rows.h"
#include "support/cpu_target.h"
#include "support/device_process.h"

namespace sidbeam::runner {

// Immutable. Memory is the host's, or, on CUDA, that of its device.
struct OutputLayer {
  int32_t device_type = SIDBEAM_DEVICE_CPU, device_id = 0;
  DeviceProcess process;
  const std::byte* weights = nullptr;  // [columns, width] by row_bytes
  Dtype dtype = Dtype::kF32;           // never kI8
  int64_t columns = 0, width = 0, row_bytes = 0;
  const float* bias = nullptr;  // [columns]; nullptr: none
  float soft_cap = 0.0F;
  CpuTarget target = CpuTarget::kBaseline;
  // In products within a tile: what one costs by itself, and what reading a row of weights does for a slot alone.
  double break_even = 1.0, row_cost = 0.0;

  const std::byte* row(int64_t column) const { return weights + column * row_bytes; }
};

// Sets a layer's costs, of which it measures break_even on the layer's own weights.
void find_costs(OutputLayer& layer);

}  // namespace sidbeam::runner
