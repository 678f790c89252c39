// The fast pass of verification for SIDs of one length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "index/verify/verify_hash.h"

namespace sidbeam {

// Returns true only if verify_trie_level() (except its masks), verify_tail() and verify_sids() would all pass; false
// proves nothing. Trusts only the header. Adds what it reads to `sums` and `pairs`.
bool has_plain_sids(const Index& index, SectionSums& sums, SidPairs& pairs);

}  // namespace sidbeam
