// Prefixes as callers give them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

namespace sidbeam {

// Prefixes [count, stride] of up to `levels` codes. Throws where the stride, which `name` names, is negative or
// overflows.
PrefixArray resolve_prefixes(const char* name, const int32_t* codes, int64_t stride, int64_t count, int32_t levels);

}  // namespace sidbeam
