// What all sections say of the SIDs. Throws Failure(CORRUPT) with section, level and position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"

namespace sidbeam {

// Every SID in order, from the trie (verified before) or the columns: that all sections agree on it, and the header's
// counts and fingerprint.
void verify_sids(const Index& index);

}  // namespace sidbeam
