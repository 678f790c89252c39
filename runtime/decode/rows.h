// Checks of logits that are handed in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/rows.h"

namespace sidbeam {

// Resolves the strides of rows; throws where they cannot be read on a device: an unknown dtype, another device, sizes or
// an address that do not fit.
void check_rows(sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id);

}  // namespace sidbeam
