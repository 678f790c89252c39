// What an index promises: little while nothing is known of its sections, everything once they are verified.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../random.h"
#include "../specimens.h"

namespace fuzz {

// Whatever the sections say: lookups write what they say they wrote, codes are below V_l, states of any bits are safe.
// In addition, everything that tests/capi/exercise.h does.
void check_any(sidbeam_index* index, Random& random);
// After SIDBEAM_VERIFY_FULL: SIDs rise and are found again, children tile their parent's ordinals, item rows their
// ordinal's, and every search ends with SIDs that exist, the best there are.
void check_sound(sidbeam_index* index, Random& random);

}  // namespace fuzz
