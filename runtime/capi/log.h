// Messages for the caller's log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode/objects.h"

namespace sidbeam::capi {

// Hands one line to the caller's callback, if there is one and it wants this level.
void log(const sidbeam_runtime& runtime, int32_t level, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace sidbeam::capi
