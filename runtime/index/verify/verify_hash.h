// The hash set. Throws Failure(CORRUPT) with section and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/views.h"

namespace sidbeam {

// Checks every used slot against the SID that it names.
void verify_hash(const IndexView& index);

}  // namespace sidbeam
