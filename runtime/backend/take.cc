// SPDX-License-Identifier: Apache-2.0
#include "backend/take.h"

#include "support/error.h"

namespace sidbeam {

void check_take(int32_t slot, int32_t levels, const TakenSlot& draft, const TakenSlot& target) {
  if (draft.constraint != target.constraint)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "slot %d of the draft follows another constraint, expected that of the target: the same version of an index",
         slot);
  for (int32_t l = 0; l < levels; ++l)
    if (draft.widths[l] < target.widths[l])
      fail(SIDBEAM_INVALID_ARGUMENT,
           "slot %d of the draft has width %d at level %d, expected at least %d, the target's", slot, draft.widths[l],
           l, target.widths[l]);
}

}  // namespace sidbeam
