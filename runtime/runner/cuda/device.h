// What the plugin keeps of each device: its context, its size, and that kernels were launched once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/cuda/current.h"

namespace sidbeam::runner::cuda {

struct Device {
  int32_t id = 0, processors = 0;
  CUcontext context = nullptr;  // the primary one
};

// Made at the first call for a device, for good; any thread. Throws NO_DEVICE naming what is missing.
const Device& device_of(int32_t id);

// For a scope, makes the device current, and lets this thread allocate and wait while a stream is being captured.
class Current {
 public:
  explicit Current(const Device& device) : context_(device.context) {}

 private:
  const sidbeam::cuda::CurrentContext context_;  // first: relaxing a thread without a context makes one
  const sidbeam::cuda::Relaxed relaxed_;
};

}  // namespace sidbeam::runner::cuda
