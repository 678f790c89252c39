// The shortcut of verification for SIDs of one length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "index/verify/sid_pairs.h"

namespace sidbeam {

// True where verify_trie_level() without its masks, verify_tail() and verify_sids() would find nothing; false says
// nothing. Trusts nothing but the header, and adds to the sums, and to the pairs, what it reads.
bool has_plain_sids(const Index& index, SectionSums& sums, SidPairs& pairs);

}  // namespace sidbeam
