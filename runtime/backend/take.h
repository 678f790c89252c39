// What a slot must have in common with the slot whose beams it takes over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

class Constraint;  // backend/constraint.h

struct TakenSlot {
  const Constraint* constraint = nullptr;
  const int32_t* widths = nullptr;  // [levels]
};

// Throws if `draft` cannot take over the beams of `target`, which are those of the same slot.
void check_take(int32_t slot, int32_t levels, const TakenSlot& draft, const TakenSlot& target);

}  // namespace sidbeam
