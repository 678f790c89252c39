// Lists of steps on a device that a plugin drives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "backend/device.h"

namespace sidbeam {

std::unique_ptr<StepLists> make_device_lists(Ref<Device> device, int64_t slots, int64_t beams);

}  // namespace sidbeam
