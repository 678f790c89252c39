// What tells catalogues apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/views.h"
#include "support/hashing.h"

namespace sidbeam {

// XXH3-128 of levels, codes, SIDs and items; by the sections' contents, not their encoding. The digest of a column is
// the XXH3-128 of a level's codes as u32. known_ids: the XXH3-128 of integer ids, where it is known already.
Hash128 fingerprint(const IndexView& index, const std::vector<Hash128>& column_digests,
                    const Hash128* known_ids = nullptr);

}  // namespace sidbeam
