// Checks what all sections say about the SIDs. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"

namespace sidbeam {

// Reads every SID in order, from the trie (already verified) or the columns. Checks that all sections agree on it and
// that the header's counts and fingerprint are right.
void verify_sids(const Index& index);

}  // namespace sidbeam
