// Checks of logits that are handed in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/rows.h"

namespace sidbeam {

// Throws where rows cannot be read on a device: NULL, an unknown dtype, another device, sizes or an address that do not
// fit.
void check_rows(const sidbeam_rows* rows, const char* what, int32_t device_type = SIDBEAM_DEVICE_CPU, int32_t device_id = 0);

}  // namespace sidbeam
