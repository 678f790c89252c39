// SPDX-License-Identifier: Apache-2.0
#include "runner/attention/device.h"

#include "runner/cuda/load.h"

namespace sidbeam::runner {

const AttentionDevice& attention_device(int32_t) { return load_runner_plugin().attention; }

}  // namespace sidbeam::runner
