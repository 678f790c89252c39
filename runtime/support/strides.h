// Strides as callers give them: 0 is dense, SIDBEAM_BROADCAST repeats one for all. Once resolved, 0 repeats one for
// all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/rows.h"

namespace sidbeam {

// Resolves the strides of rows whose counts have been checked. Throws where an offset would overflow; `what` names
// them.
void resolve_strides(sidbeam_rows& rows, const char* what);

// Throws if `count` things, `stride` pieces of `elements` elements of at most 8 bytes apart, exceed the address space.
void check_stride(const char* name, int64_t count, int64_t stride, int64_t elements = 1);

}  // namespace sidbeam
