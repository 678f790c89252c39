// The fast pass of verification for tries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "index/verify/verify_hash.h"

namespace sidbeam {

// has_plain_sids() for an index with a trie.
bool has_plain_trie(const Index& index, SectionSums& sums, SidPairs& pairs);

}  // namespace sidbeam
