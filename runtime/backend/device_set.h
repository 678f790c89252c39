// The stateless calls on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/device.h"

namespace sidbeam {

// Brings the tries of the set's indexes to the device.
std::unique_ptr<SetBackend> make_device_set(Ref<Device> device, const SetShape& shape);

}  // namespace sidbeam
