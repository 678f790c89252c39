// Versions of a live catalogue: an index, what has been added to it, and which items have not gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "decode/objects.h"

namespace sidbeam {

// What a version is made of. `overlay`, of base and delta, is null where nothing has been added, and so is the delta.
struct VersionParts {
  Ref<sidbeam_index> base, delta;
  std::shared_ptr<const Overlay> overlay;
  Buffer<uint64_t> live_rows;  // bits of all item rows, as make_bits() makes them; empty: none has gone
};

// An index to all who read it; its item rows and ordinals are the base's, and after them those that were added.
// Where `before` (may be null) has the same base and overlay, what has not gone is derived from what had not then.
std::unique_ptr<sidbeam_index> make_version(VersionParts parts, const sidbeam_index* before = nullptr);

}  // namespace sidbeam
