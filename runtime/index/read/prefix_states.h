// States outside a session.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/views.h"

namespace sidbeam {

// The state of a prefix in the trie; dead where no SID has it or a code is out of range.
int64_t trie_state(const IndexView& index, const int32_t* prefix, int32_t length);

// The state after a token in any state, strange ones included: dead where the token may not follow; token -1 keeps an
// ended state.
int64_t advance_state(const IndexView& index, int64_t state, int32_t token);

}  // namespace sidbeam
