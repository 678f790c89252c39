// The fingerprint of a catalogue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/views.h"
#include "support/hashing.h"

namespace sidbeam {

// The XXH3-128 of levels, codes, SIDs and items. It depends on the content, not on its encoding. column_digests: the
// XXH3-128 of each level's codes as u32. known_ids: the XXH3-128 of the integer ids, if already computed.
Hash128 fingerprint(const IndexView& index, const std::vector<Hash128>& column_digests,
                    const Hash128* known_ids = nullptr);

}  // namespace sidbeam
