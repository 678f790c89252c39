// What all sections say of the SIDs. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"

namespace sidbeam {

// Reads every SID in order, from the trie (verified before) or the columns, and checks that all sections agree on it
// and that the header's counts and fingerprint are right.
void verify_sids(const Index& index);

}  // namespace sidbeam
