// Which device a session or a set is on: decided here, once, when it is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "decode/objects.h"
#include "sidbeam/base.h"
#include "support/error.h"

namespace sidbeam {

inline void check_device_choice(int32_t device_type, int32_t device_id) {
  if (device_type < SIDBEAM_DEVICE_CPU || device_type > SIDBEAM_DEVICE_CUDA)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.device_type is %d, expected CPU (0) or CUDA (1)", device_type);
  if (device_type == SIDBEAM_DEVICE_CPU && device_id != 0)
    fail(SIDBEAM_NO_DEVICE, "config.device_id is %d, expected 0 for the CPU", device_id);
}

// The runtime's backend there; it stays as long as the runtime. Throws where there is no such device.
inline Backend& backend_on(sidbeam_runtime& runtime, int32_t device_type, int32_t device_id) {
  if (device_type == SIDBEAM_DEVICE_CPU) return *runtime.cpu;
  return runtime.devices.open(device_id);
}

}  // namespace sidbeam
