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

// Item rows of an index: bits of all of them, and of those that have not gone; null: all.
struct RowSet {
  const uint64_t* rows;
  const uint64_t* live;
  uint64_t word(uint64_t w) const { return rows[w] & (live != nullptr ? live[w] : ~uint64_t{0}); }
};
// What a set, whose rows must stay, leaves of an index, at the cost of what differs from a set of another index, of
// which it is known: of a copy and of the rows, where both are versions on one base, and of all that was added where
// that is another.
std::unique_ptr<const FilterBits> derive_from(const sidbeam_index& index, const RowSet& set, const sidbeam_index& other,
                                              const RowSet& before, const FilterBits& derived);

// An index to all who read it; its item rows and ordinals are the base's, and after them those that were added.
// Where `before` (may be null) has the same base, what has not gone is derived from what had not then.
std::unique_ptr<sidbeam_index> make_version(VersionParts parts, const sidbeam_index* before = nullptr);

}  // namespace sidbeam
