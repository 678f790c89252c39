// What an index promises of its numbers, each promise defined once: the checks of sections (checks.h, on the CPU and on a
// device) and the bulk loops (bulk_kernels.h) are made of these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

// Always inline, so that no file compiled for one instruction set leaves them to another. Bits are combined without
// short cuts, which would keep loops from becoming vectors.
#define SIDBEAM_INVARIANT SIDBEAM_HD __attribute__((always_inline)) inline constexpr

// Tokens of a row, SIDs in their order, ordinals of nodes, lists of ends, item offsets.
template <class T>
SIDBEAM_INVARIANT bool rises(T before, T value) {
  return value > before;
}
// Row pointers, name offsets.
template <class T>
SIDBEAM_INVARIANT bool falls_from(T before, T value) {
  return value < before;
}
// A code against that of the SID before, which it may not fall below unless the SIDs differ above.
template <class T>
SIDBEAM_INVARIANT bool is_in_order(bool differs_above, T before, T code) {
  return differs_above | !falls_from(before, code);
}
// Where a SID begins an edge of its own: from the first level on at which its code is another.
template <class T>
SIDBEAM_INVARIANT bool begins_edge(bool begins_above, T before, T code) {
  return begins_above | (code != before);
}

inline constexpr uint64_t kEmptySlot = ~uint64_t{0};
SIDBEAM_INVARIANT bool is_used(uint64_t key) { return key != kEmptySlot; }
// What an empty slot has for an ordinal: 0. Of a used one nothing is said.
template <class T>
SIDBEAM_INVARIANT T stray_ordinal(bool used, T ordinal) {
  return static_cast<T>(ordinal & (T{used} - 1));
}
// A key is found only where no slot between where it begins and where it lies is empty, `before` used slots preceding it,
// and no further than a lookup goes.
SIDBEAM_INVARIANT bool is_reached(uint64_t distance, uint64_t before, uint64_t furthest) {
  return distance <= (before < furthest ? before : furthest);
}

}  // namespace sidbeam
