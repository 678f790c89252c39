// Computes trie states outside a session.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/views.h"

namespace sidbeam {

// The trie state of a prefix; dead if no SID has the prefix or a code is out of range.
int64_t trie_state(const IndexView& index, const int32_t* prefix, int32_t length);

// The state after a token. Any state is accepted, including invalid ones. The result is dead if the token may not
// follow. Token -1 keeps an ended state.
int64_t advance_state(const IndexView& index, int64_t state, int32_t token);

}  // namespace sidbeam
