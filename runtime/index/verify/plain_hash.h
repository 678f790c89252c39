// The fast pass over the hash set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "index/verify/sid_pairs.h"

namespace sidbeam {

// True only where verify_hash() would pass, for SIDs of any length; false proves nothing. Trusts only the header. Adds
// what it reads to the sums and the pairs.
bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs);

}  // namespace sidbeam
