// The shortcut to what verify_hash.h asks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "index/verify/sid_pairs.h"

namespace sidbeam {

// True where verify_hash() would find nothing, of SIDs of any length; false says nothing. Trusts nothing but the header,
// and adds to the sums, and to the pairs, what it reads.
bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs);

}  // namespace sidbeam
