// The levels of a trie that have rows. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/views.h"

namespace sidbeam {

// Row pointers, tokens, ends and masks of one level.
void verify_trie_level(const IndexView& index, int level);
// Only the masks, the rest being verified.
void verify_dense(const LevelView& level, int l);

}  // namespace sidbeam
