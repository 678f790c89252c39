// A session on a device that a plugin drives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/constraint.h"
#include "backend/device.h"

namespace sidbeam {

// Brings what the session needs of its constraint's index to the device.
std::unique_ptr<SessionBackend> make_device_session(Ref<Device> device, const SessionShape& shape,
                                                    const Constraint& constraint);

}  // namespace sidbeam
