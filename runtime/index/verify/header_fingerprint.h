// Checks the header's fingerprint against the contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/index.h"
#include "index/verify/section_sums.h"
#include "support/hashing.h"

namespace sidbeam {

bool is_fingerprint(const Index& index, const Hash128& fingerprint);
// The same, computed from the digests of the columns. Adds the ids to `sums`.
bool is_fingerprint_of(const Index& index, const std::vector<Stream128>& digests, SectionSums& sums);

}  // namespace sidbeam
