// Sizes of an index, before it is built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/header.h"
#include "sidbeam/builder.h"

namespace sidbeam {

// All of a plan but exact and peak_bytes; struct_size is left alone.
void fill_plan(const FileHeader& header, sidbeam_plan& out);

}  // namespace sidbeam
