// Checks the structure of a trie. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/views.h"

namespace sidbeam {

// Checks the row pointers, tokens, ends and masks of a level with rows.
void verify_trie_level(const IndexView& index, int level);
// Checks only the masks; everything else is already verified.
void verify_dense(const LevelView& level, int l);
// Checks the tail of a compact trie: order, splits and runs, and the ordinals of its first level. Trusts the levels
// above.
void verify_tail(const IndexView& index);

}  // namespace sidbeam
