// Looks up the last codes of a beam in the hash set, many at a time, so that they wait for memory together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "index/views.h"

namespace sidbeam::cpu {

// Keeps the codes of the last level that complete a prefix of [levels - 1] codes to a SID in the hash set, in order;
// returns their number.
int32_t keep_in_hash_set(const Kernels& kernels, const IndexView& index, const int32_t* prefix, uint32_t* codes,
                         int32_t count);

}  // namespace sidbeam::cpu
