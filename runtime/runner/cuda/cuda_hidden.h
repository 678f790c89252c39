// The step from hidden states with a layer and a session on a CUDA device, by way of the plugin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/hidden/hidden_step.h"

namespace sidbeam::runner {

// Throws Failure, as sidbeam_hidden_create() says.
std::unique_ptr<HiddenSteps> make_cuda_hidden(const HiddenConfig& config);

// Throws unless an address is memory of the device; `name` is what it is called.
void check_device_memory(int32_t device_id, const void* address, const char* name);

}  // namespace sidbeam::runner
