// Checks whether an index is what its header says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/index.h"

namespace sidbeam {

// Throws Failure(CORRUPT), saying what is wrong and where. depth: SIDBEAM_VERIFY_*.
void verify_index(const Index& index, int32_t depth, int threads);

}  // namespace sidbeam
