// The digest of all attributes of an index. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/attributes/shape.h"
#include "support/hashing.h"

namespace sidbeam {

// From the XXH3-128 of each section of the file; those of attributes are read.
Hash128 attribute_digest(const std::vector<AttributeShape>& shapes, uint64_t items,
                         const std::vector<Hash128>& sections);

}  // namespace sidbeam
