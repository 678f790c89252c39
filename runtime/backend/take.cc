// SPDX-License-Identifier: Apache-2.0
#include "backend/take.h"

#include "support/error.h"

namespace sidbeam {

void check_take(int32_t slot, const TakenSlot& draft, const TakenSlot& target) {
  if (draft.constraint != target.constraint)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "slot %d of the draft follows another constraint, expected that of the target: the same version of an index",
         slot);
  if (draft.width < target.width)
    fail(SIDBEAM_INVALID_ARGUMENT, "slot %d of the draft has width %d, expected at least %d, that of the target", slot,
         draft.width, target.width);
}

}  // namespace sidbeam
