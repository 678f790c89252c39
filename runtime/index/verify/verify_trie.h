// The structure of a trie. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/views.h"

namespace sidbeam {

// Row pointers, tokens, ends and masks of one level that has rows.
void verify_trie_level(const IndexView& index, int level);
// Only the masks, the rest being verified.
void verify_dense(const LevelView& level, int l);
// The tail of a compact trie: its order, splits and runs, and the ordinals of its first level. Trusts the levels above.
void verify_tail(const IndexView& index);

}  // namespace sidbeam
