// Finding the runner's plugin for CUDA. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/interface.h"

namespace sidbeam::runner {

// The plugin that $SIDBEAM_RUNNER_CUDA_LIBRARY names, else libsidbeam_runner_cuda.so.1 in the folder of this library,
// else where the system looks. Throws NO_DEVICE with what is missing. It stays loaded; later calls return the same one.
const RunnerPlugin& load_runner_plugin();

}  // namespace sidbeam::runner
