// Makes a device current for a scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device.h"
#include "support/cuda/current.h"

namespace sidbeam::cuda {

// For a scope, makes the device current and relaxes the thread. Every call that reaches a device begins with one.
class Current {
 public:
  explicit Current(const DeviceHandle& device) : context_(device.context) {}

 private:
  const CurrentContext context_;  // first: relaxing a thread without a context makes one of some device
  const Relaxed relaxed_;
};

}  // namespace sidbeam::cuda
