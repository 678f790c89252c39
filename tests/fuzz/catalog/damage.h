// Damage to the files of a live catalogue, as a disk or somebody else might do it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../random.h"

namespace fuzz {

// Changes a log or the manifest in a folder: bits, bytes cut off or added, 64-bit words. With `repaired` the checksums
// are made right again, so that only the readers' own checks see it.
void damage_folder(const std::string& folder, Random& random, bool repaired);

}  // namespace fuzz
