// Relaxed speculation: drawing extensions from a distribution, and verifying drafts of one by another
// (sidbeam/speculate.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/speculate.h"
#include "support/memory.h"

namespace sidbeam {

// Throws INVALID_ARGUMENT before anything has been written.
void draw_extensions(const Allocator& allocator, const sidbeam_relaxed_draw_args& args, int64_t* drafts);
void verify_extensions(const Allocator& allocator, const sidbeam_relaxed_verify_args& args, sidbeam_relaxed_beams& out);

}  // namespace sidbeam
