// Files whose header agrees with itself and with the sizes of its sections, whatever lies in these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "../random.h"
#include "layout.h"

namespace fuzz {

// Bytes of an element of an encoding.
size_t element_bytes(uint16_t encoding);

// Makes the list of sections what the counts of the header ask for (schemas/README.md). Contents stay where there are
// some, and are drawn where there are none. False, with the file in any state, where it would grow too large.
bool conform(IndexFile& file, Random& random);
// A header with counts that agree with each other, and sections of contents that do not.
IndexFile random_file(Random& random);

}  // namespace fuzz
