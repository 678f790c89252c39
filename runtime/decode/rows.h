// Checks of logits that are handed in, and of strides: no count times a stride of the caller's overflows after them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/rows.h"

namespace sidbeam {

// The most rows of a call, of logits or of anything else.
inline constexpr int64_t kMaxRows = int64_t{1} << 32;

// Throws where rows cannot be read on a device: an unknown dtype, another device, sizes or an address that do not fit.
// Strides over no more than one row become 0: what nobody reads must not overflow either.
void check_rows(sidbeam_rows& rows, const char* what, int32_t device_type = SIDBEAM_CPU, int32_t device_id = 0);

// Throws where `count` things, `stride` elements of at most 8 bytes after each other, pass what can be addressed. `what`
// names the struct that the stride is a field of, "" for none.
void check_stride(const char* what, const char* field, int64_t count, int64_t stride);
// The same for prefixes, which lie forwards.
void check_prefix_stride(const char* field, int64_t count, int64_t stride);

}  // namespace sidbeam
