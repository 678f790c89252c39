// Checks of the caller's logits and of strides: after them no count times a stride overflows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/rows.h"

namespace sidbeam {

// The most rows of a call, of logits or of anything else.
inline constexpr int64_t kMaxRows = int64_t{1} << 32;

// Resolves the strides of rows. Throws if they cannot be read on a device: an unknown dtype, another device, sizes or
// an address that do not fit.
void check_rows(sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id);

}  // namespace sidbeam
