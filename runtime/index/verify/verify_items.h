// Checks the items of SIDs. Throws Failure(CORRUPT) with section and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"

namespace sidbeam {

void verify_items(const Index& index);

}  // namespace sidbeam
