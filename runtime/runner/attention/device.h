// Attention on a device: functions of the runner's plugin for CUDA, behind the same arguments as the public ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/attention.h"

namespace sidbeam::runner {

// Called with checked shapes and pointers. Each writes `err`, if there is one, and returns its status.
struct AttentionDevice {
  sidbeam_status (*workspace)(const sidbeam_attention_args*, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*run)(const sidbeam_attention_args*, sidbeam_error* err);
  sidbeam_status (*permute)(const sidbeam_attention_permute_args*, sidbeam_error* err);
};

// Throws NO_DEVICE with what is missing.
const AttentionDevice& attention_device(int32_t device_id);

}  // namespace sidbeam::runner
