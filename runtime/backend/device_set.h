// The stateless forms on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/device.h"

namespace sidbeam {

// The uploads are those of view.indexes, in their order; kept.
std::unique_ptr<SetBackend> make_device_set(Ref<Device> device, std::vector<Ref<Upload>> uploads, const SetView& view,
                                            const DeviceVocabulary& vocabulary);

}  // namespace sidbeam
