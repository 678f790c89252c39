// Checks the contents of attributes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/index.h"
#include "index/verify/section_sums.h"

namespace sidbeam {

// Throws CORRUPT unless values, dictionaries and lists are sound and agree with the header. The sums are complete.
void verify_attributes(const Index& index, const SectionSums& sums, int threads);

}  // namespace sidbeam
