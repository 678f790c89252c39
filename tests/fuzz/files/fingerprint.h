// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout.h"

namespace fuzz {

// Corrects the digest of the attributes, and the fingerprint for the catalogue that the sections give, so that only the
// structure's own checks stand between damage and its use. Leaves the fingerprint alone if the sections give none, and
// in compact tries of variable length without columns.
void repair_fingerprint(IndexFile& file);

}  // namespace fuzz
