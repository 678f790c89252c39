// Files of draft heads, written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/draft.h"

namespace sidbeam::runner {

// Throws Failure as sidbeam_draft_head_write() says.
void write_draft_head(const char* path, const sidbeam_draft_weights& weights);

}  // namespace sidbeam::runner
