// The invariants of an index on plain values, each defined once. The checks of sections (checks.h, for CPU and devices)
// and the bulk loops (bulk_kernels.h) are built from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

// Always inlined, so that code compiled for one instruction set never ends up in a file for another. Conditions are
// combined with | and &, because short-circuit evaluation would prevent loops from being vectorised.
#define SIDBEAM_INVARIANT SIDBEAM_HD __attribute__((always_inline)) inline constexpr

// Holds for the tokens of a row, SIDs in order, ordinals of nodes, lists of ends and item offsets.
template <class T>
SIDBEAM_INVARIANT bool rises(T before, T value) {
  return value > before;
}
// Must not hold for row pointers and name offsets.
template <class T>
SIDBEAM_INVARIANT bool falls_from(T before, T value) {
  return value < before;
}
// A code may be less than that of the previous SID only if the two SIDs differ at a higher level.
template <class T>
SIDBEAM_INVARIANT bool is_in_order(bool differs_above, T before, T code) {
  return differs_above | !falls_from(before, code);
}
// A SID begins an edge at each level from the first one at which its code differs from that of the previous SID.
template <class T>
SIDBEAM_INVARIANT bool begins_edge(bool begins_above, T before, T code) {
  return begins_above | (code != before);
}

inline constexpr uint64_t kEmptySlot = ~uint64_t{0};
SIDBEAM_INVARIANT bool is_used(uint64_t key) { return key != kEmptySlot; }
// The ordinal of an empty slot, which must be 0; 0 for a used slot.
template <class T>
SIDBEAM_INVARIANT T stray_ordinal(bool used, T ordinal) {
  return static_cast<T>(ordinal & (T{used} - 1));
}
// A lookup finds a key only if no slot between where the key begins and where it lies is empty (`before` used slots
// precede it in its run), and if it lies no further away than lookups go.
SIDBEAM_INVARIANT bool is_reached(uint64_t distance, uint64_t before, uint64_t furthest) {
  return distance <= (before < furthest ? before : furthest);
}

}  // namespace sidbeam
