// Finding the plugin that drives CUDA devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backend/device_plugin.h"

namespace sidbeam {

// The plugin at `path`; where that is empty the one that $SIDBEAM_CUDA_LIBRARY names, else libsidbeam_cuda.so.1 in the
// folder of this library, else where the system looks. Throws NO_DEVICE with what is missing. It stays loaded.
const DevicePlugin& load_cuda_plugin(const std::string& path);

}  // namespace sidbeam
