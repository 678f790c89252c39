// The tail of a compact trie. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/views.h"

namespace sidbeam {

// Order, splits and runs of the tail, and the ordinals of its first level. The levels above are verified.
void verify_tail(const IndexView& index);
// Whether bits past the last split are set.
bool has_tail_padding(const IndexView& index);

}  // namespace sidbeam
